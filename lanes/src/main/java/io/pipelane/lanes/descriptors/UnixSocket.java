package io.pipelane.lanes.descriptors;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A Unix domain socket that file descriptors are passed through ({@code SCM_RIGHTS}, unix(7)),
 * under a name that is in no file system. Belongs to one thread, but for {@link #shutDown}.
 *
 * <p>A failed call throws a {@link StatusException} that names it, {@link Status#INTERNAL}.
 */
public final class UnixSocket implements AutoCloseable {
  /** Descriptors in one message, at most; the system takes 253. */
  public static final int MOST_DESCRIPTORS = 200;

  /** Numbers in one message, at most. */
  public static final int MOST_NUMBERS = 8;

  private static final int AF_UNIX = 1;
  private static final int SOCK_SEQPACKET = 5;
  private static final int CLOSE_ON_EXEC = 0x80000;
  private static final int BACKLOG = 16;
  private static final int SOL_SOCKET = 1;
  private static final int SO_PEERCRED = 17;
  private static final int SO_RCVTIMEO = 20;
  private static final int SCM_RIGHTS = 1;
  private static final int MSG_NOSIGNAL = 0x4000;
  private static final int MSG_CMSG_CLOEXEC = 0x40000000;
  private static final int SHUT_RDWR = 2;
  private static final int EINTR = 4;
  private static final int ADDRESS_BYTES = 110;
  private static final int LONGEST_NAME = ADDRESS_BYTES - 3;
  private static final int MESSAGE_BYTES = 56;
  private static final int CONTROL_HEADER = 16;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final MemoryLayout CALL_STATE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      CALL_STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
  private static final MethodHandle SOCKET = function("socket", JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle BIND = function("bind", JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle LISTEN = function("listen", JAVA_INT, JAVA_INT);
  private static final MethodHandle CONNECT = function("connect", JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle ACCEPT =
      function("accept4", JAVA_INT, ADDRESS, ADDRESS, JAVA_INT);
  private static final MethodHandle PEER =
      function("getsockopt", JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
  private static final MethodHandle SET_OPTION =
      function("setsockopt", JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle SEND = transfer("sendmsg");
  private static final MethodHandle RECEIVE = transfer("recvmsg");
  private static final MethodHandle SHUTDOWN = function("shutdown", JAVA_INT, JAVA_INT);
  private static final MethodHandle CLOSE = function("close", JAVA_INT);
  private static final MethodHandle USER =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("geteuid"), FunctionDescriptor.of(JAVA_INT));

  private final int socket;
  private boolean closed;

  private UnixSocket(int socket) {
    this.socket = socket;
  }

  /** A function of integers and addresses that answers an integer, -1 where it fails. */
  private static MethodHandle function(String name, MemoryLayout... parameters) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name),
        FunctionDescriptor.of(JAVA_INT, parameters),
        Linker.Option.captureCallState("errno"));
  }

  private static MethodHandle transfer(String name) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(name),
        FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT),
        Linker.Option.captureCallState("errno"));
  }

  /** A call with its arguments, which gets the memory for the system's error first. */
  private interface Call {
    long on(MemorySegment state) throws Throwable;
  }

  /** Calls until it is not interrupted. */
  private static long checked(String name, Arena arena, Call call) {
    MemorySegment state = arena.allocate(CALL_STATE);
    try {
      long result = call.on(state);
      while (result < 0 && (int) ERRNO.get(state, 0L) == EINTR) {
        result = call.on(state);
      }
      if (result < 0) {
        throw new StatusException(
            Status.INTERNAL, name + " failed: errno " + (int) ERRNO.get(state, 0L));
      }
      return result;
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(name + " threw", e);
    }
  }

  private static UnixSocket open(Arena arena) {
    int type = SOCK_SEQPACKET | CLOSE_ON_EXEC;
    return new UnixSocket(
        (int) checked("socket", arena, s -> (int) SOCKET.invokeExact(s, AF_UNIX, type, 0)));
  }

  private static MemorySegment address(Arena arena, String name) {
    byte[] bytes = name.getBytes(StandardCharsets.US_ASCII);
    if (bytes.length > LONGEST_NAME) {
      throw new IllegalArgumentException("a socket's name has at most " + LONGEST_NAME + " bytes");
    }
    // A zero byte in front makes the name an abstract one.
    MemorySegment address = arena.allocate(2 + 1 + bytes.length, Short.BYTES);
    address.set(JAVA_SHORT, 0, (short) AF_UNIX);
    MemorySegment.copy(bytes, 0, address, JAVA_BYTE, 3, bytes.length);
    return address;
  }

  /** Opens a socket that others can {@link #connect} to. */
  public static UnixSocket listen(String name) {
    try (Arena arena = Arena.ofConfined()) {
      UnixSocket socket = open(arena);
      MemorySegment address = address(arena, name);
      int length = (int) address.byteSize();
      try {
        checked("bind", arena, s -> (int) BIND.invokeExact(s, socket.socket, address, length));
        checked("listen", arena, s -> (int) LISTEN.invokeExact(s, socket.socket, BACKLOG));
        return socket;
      } catch (RuntimeException e) {
        socket.close();
        throw e;
      }
    }
  }

  /** Connects to a socket of this machine. */
  public static UnixSocket connect(String name) {
    try (Arena arena = Arena.ofConfined()) {
      UnixSocket socket = open(arena);
      MemorySegment address = address(arena, name);
      int length = (int) address.byteSize();
      try {
        checked(
            "connect", arena, s -> (int) CONNECT.invokeExact(s, socket.socket, address, length));
        return socket;
      } catch (RuntimeException e) {
        socket.close();
        throw e;
      }
    }
  }

  /** Waits for somebody to connect; fails once the socket is shut down. */
  public UnixSocket accept() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment nobody = MemorySegment.NULL;
      return new UnixSocket(
          (int)
              checked(
                  "accept4",
                  arena,
                  s -> (int) ACCEPT.invokeExact(s, socket, nobody, nobody, CLOSE_ON_EXEC)));
    }
  }

  /** Whether the process at the other end is of the same user. */
  public boolean isOfSameUser() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment credentials = arena.allocate(3 * Integer.BYTES, Integer.BYTES);
      MemorySegment length = arena.allocateFrom(JAVA_INT, (int) credentials.byteSize());
      checked(
          "getsockopt",
          arena,
          s -> (int) PEER.invokeExact(s, socket, SOL_SOCKET, SO_PEERCRED, credentials, length));
      return credentials.get(JAVA_INT, Integer.BYTES) == user();
    }
  }

  private static int user() {
    try {
      return (int) USER.invokeExact();
    } catch (Throwable e) {
      throw new IllegalStateException("geteuid threw", e);
    }
  }

  /** Has what waits for the other side to send fail after so long, a microsecond at least. */
  public void limitWaits(Duration longest) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment time =
          arena.allocateFrom(JAVA_LONG, longest.toSeconds(), longest.toNanosPart() / 1000);
      int length = (int) time.byteSize();
      checked(
          "setsockopt",
          arena,
          s -> (int) SET_OPTION.invokeExact(s, socket, SOL_SOCKET, SO_RCVTIMEO, time, length));
    }
  }

  /** Sends descriptors, at most {@link #MOST_DESCRIPTORS}; they stay open here. */
  public void send(int... descriptors) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment control = control(arena, descriptors.length);
      for (int i = 0; i < descriptors.length; i++) {
        control.set(JAVA_INT, CONTROL_HEADER + (long) Integer.BYTES * i, descriptors[i]);
      }
      MemorySegment message = message(arena, arena.allocate(1), control);
      checked("sendmsg", arena, s -> (long) SEND.invokeExact(s, socket, message, MSG_NOSIGNAL));
    }
  }

  /** Sends numbers, at most {@link #MOST_NUMBERS}. */
  public void sendNumbers(int... numbers) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment message =
          message(arena, arena.allocateFrom(JAVA_INT, numbers), MemorySegment.NULL);
      checked("sendmsg", arena, s -> (long) SEND.invokeExact(s, socket, message, MSG_NOSIGNAL));
    }
  }

  /**
   * Waits for numbers.
   *
   * @return none when the other side has closed
   */
  public int[] receiveNumbers() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment numbers = arena.allocate(JAVA_INT, MOST_NUMBERS);
      MemorySegment message = message(arena, numbers, MemorySegment.NULL);
      long bytes =
          checked(
              "recvmsg",
              arena,
              s -> (long) RECEIVE.invokeExact(s, socket, message, MSG_CMSG_CLOEXEC));
      return numbers.asSlice(0, bytes & -Integer.BYTES).toArray(JAVA_INT);
    }
  }

  /**
   * Waits for descriptors, which belong to this process then.
   *
   * @return null when the other side has closed
   */
  public int @Nullable [] receive() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment control = control(arena, MOST_DESCRIPTORS);
      MemorySegment message = message(arena, arena.allocate(1), control);
      long bytes =
          checked(
              "recvmsg",
              arena,
              s -> (long) RECEIVE.invokeExact(s, socket, message, MSG_CMSG_CLOEXEC));
      if (bytes == 0) {
        return null;
      }
      long controlBytes = message.get(JAVA_LONG, 40);
      long held = controlBytes == 0 ? 0 : control.get(JAVA_LONG, 0) - CONTROL_HEADER;
      int[] descriptors = new int[(int) (held / Integer.BYTES)];
      for (int i = 0; i < descriptors.length; i++) {
        descriptors[i] = control.get(JAVA_INT, CONTROL_HEADER + (long) Integer.BYTES * i);
      }
      return descriptors;
    }
  }

  /** A cmsghdr with room for descriptors. */
  private static MemorySegment control(Arena arena, int descriptors) {
    long length = CONTROL_HEADER + (long) Integer.BYTES * descriptors;
    MemorySegment control = arena.allocate((length + 7) & -8, 8);
    control.set(JAVA_LONG, 0, length);
    control.set(JAVA_INT, 8, SOL_SOCKET);
    control.set(JAVA_INT, 12, SCM_RIGHTS);
    return control;
  }

  /** A msghdr of some bytes and a control message, or none. */
  private static MemorySegment message(Arena arena, MemorySegment body, MemorySegment control) {
    MemorySegment part = arena.allocate(16, 8);
    part.set(ADDRESS, 0, body);
    part.set(JAVA_LONG, 8, body.byteSize());
    MemorySegment message = arena.allocate(MESSAGE_BYTES, 8);
    message.set(ADDRESS, 16, part);
    message.set(JAVA_LONG, 24, 1);
    message.set(ADDRESS, 32, control);
    message.set(JAVA_LONG, 40, control.byteSize());
    return message;
  }

  /** Closes a descriptor that was received. */
  public static void close(int descriptor) {
    try (Arena arena = Arena.ofConfined()) {
      checked("close", arena, s -> (int) CLOSE.invokeExact(s, descriptor));
    }
  }

  /** Ends what waits in it, now and later; on any thread. */
  public void shutDown() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      int _ = (int) SHUTDOWN.invokeExact(state, socket, SHUT_RDWR); // Fails where nobody is.
    } catch (Throwable e) {
      throw new IllegalStateException("shutdown threw", e);
    }
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      close(socket);
    }
  }
}
