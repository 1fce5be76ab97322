package io.pipelane.server.net;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.netty.channel.Channel;
import io.netty.channel.unix.UnixChannel;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The bytes that Linux holds of what was written to a socket until the other side has taken them.
 */
final class SendQueue {
  private static final long SIOCOUTQ = 0x5411;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final MethodHandle IOCTL =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("ioctl"),
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS),
          Linker.Option.firstVariadicArg(2));

  private SendQueue() {}

  /** How much it is; 0 where the channel does not say which descriptor is its socket's. */
  static int bytes(Channel channel) {
    if (!(channel instanceof UnixChannel socket) || !channel.isActive()) {
      return 0;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = arena.allocate(JAVA_INT);
      int result = (int) IOCTL.invokeExact(socket.fd().intValue(), SIOCOUTQ, bytes);
      return result == 0 ? bytes.get(JAVA_INT, 0) : 0;
    } catch (Throwable e) {
      throw new IllegalStateException("ioctl failed", e);
    }
  }
}
