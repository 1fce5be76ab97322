package io.pipelane.server.net;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.netty.channel.Channel;
import io.netty.channel.unix.UnixChannel;
import io.pipelane.runtime.NativeFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The bytes that Linux holds of what was written to a socket until the other side has taken them.
 */
final class SendQueue {
  private static final long SIOCOUTQ = 0x5411;
  private static final NativeFunction IOCTL = NativeFunction.of("ioctl");

  private SendQueue() {}

  /** How much it is; 0 where the channel does not say which descriptor is its socket's. */
  static int bytes(Channel channel) {
    if (!(channel instanceof UnixChannel socket) || !channel.isActive()) {
      return 0;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = arena.allocate(JAVA_INT);
      int result = (int) IOCTL.call(socket.fd().intValue(), SIOCOUTQ, bytes.address());
      return result == 0 ? bytes.get(JAVA_INT, 0) : 0;
    }
  }
}
