package io.pipelane.lanes.descriptors;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.CallError;
import io.pipelane.runtime.NativeFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
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

  private static final NativeFunction SOCKET = NativeFunction.of("socket");
  private static final NativeFunction BIND = NativeFunction.of("bind");
  private static final NativeFunction LISTEN = NativeFunction.of("listen");
  private static final NativeFunction CONNECT = NativeFunction.of("connect");
  private static final NativeFunction ACCEPT = NativeFunction.of("accept4");
  private static final NativeFunction PEER = NativeFunction.of("getsockopt");
  private static final NativeFunction SET_OPTION = NativeFunction.of("setsockopt");
  private static final NativeFunction SEND = NativeFunction.of("sendmsg");
  private static final NativeFunction RECEIVE = NativeFunction.of("recvmsg");
  private static final NativeFunction SHUTDOWN = NativeFunction.of("shutdown");
  private static final NativeFunction CLOSE = NativeFunction.of("close");
  private static final NativeFunction USER = NativeFunction.of("geteuid");

  private final int socket;
  private boolean closed;

  private UnixSocket(int socket) {
    this.socket = socket;
  }

  /** A call that answers -1 where it fails. */
  private interface Call {
    long on(CallError error);
  }

  /** Calls until it is not interrupted. */
  private static int checked(String name, Arena arena, Call call) {
    CallError error = new CallError(arena);
    int result = (int) call.on(error);
    while (result < 0 && error.number() == EINTR) {
      result = (int) call.on(error);
    }
    if (result < 0) {
      throw new StatusException(Status.INTERNAL, name + " failed: errno " + error.number());
    }
    return result;
  }

  private static UnixSocket open(Arena arena) {
    int type = SOCK_SEQPACKET | CLOSE_ON_EXEC;
    return new UnixSocket(checked("socket", arena, error -> SOCKET.call(error, AF_UNIX, type, 0)));
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
        checked("bind", arena, error -> BIND.call(error, socket.socket, address.address(), length));
        checked("listen", arena, error -> LISTEN.call(error, socket.socket, BACKLOG, 0));
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
            "connect",
            arena,
            error -> CONNECT.call(error, socket.socket, address.address(), length));
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
      long nobody = 0;
      return new UnixSocket(
          checked(
              "accept4",
              arena,
              error -> ACCEPT.call(error, socket, nobody, nobody, CLOSE_ON_EXEC, 0, 0)));
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
          error ->
              PEER.call(
                  error,
                  socket,
                  SOL_SOCKET,
                  SO_PEERCRED,
                  credentials.address(),
                  length.address(),
                  0));
      return credentials.get(JAVA_INT, Integer.BYTES) == user();
    }
  }

  private static int user() {
    return (int) USER.call(0, 0, 0);
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
          error ->
              SET_OPTION.call(error, socket, SOL_SOCKET, SO_RCVTIMEO, time.address(), length, 0));
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
      checked("sendmsg", arena, error -> SEND.call(error, socket, message.address(), MSG_NOSIGNAL));
    }
  }

  /** Sends numbers, at most {@link #MOST_NUMBERS}. */
  public void sendNumbers(int... numbers) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment message =
          message(arena, arena.allocateFrom(JAVA_INT, numbers), MemorySegment.NULL);
      checked("sendmsg", arena, error -> SEND.call(error, socket, message.address(), MSG_NOSIGNAL));
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
      int bytes =
          checked(
              "recvmsg",
              arena,
              error -> RECEIVE.call(error, socket, message.address(), MSG_CMSG_CLOEXEC));
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
      int bytes =
          checked(
              "recvmsg",
              arena,
              error -> RECEIVE.call(error, socket, message.address(), MSG_CMSG_CLOEXEC));
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
      checked("close", arena, error -> CLOSE.call(error, descriptor, 0, 0));
    }
  }

  /** Ends what waits in it, now and later; on any thread. */
  public void shutDown() {
    long _ = SHUTDOWN.call(socket, SHUT_RDWR, 0); // Fails where nobody is.
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      close(socket);
    }
  }
}
