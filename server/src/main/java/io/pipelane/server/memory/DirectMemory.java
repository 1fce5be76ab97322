package io.pipelane.server.memory;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.internal.PlatformDependent;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import org.jspecify.annotations.Nullable;

/**
 * The memory outside Java's heap that requests and answers take, which is as large as the JVM says.
 * Large ones leave a part of it to small ones.
 */
public final class DirectMemory {
  /*
   * Whoever asks for large outputs and reads none of them, on as many connections as there may be,
   * would take all of it, and with it the room for everybody's requests and for the answers that
   * say so. What is small needs no more than a chunk of memory for each of Netty's arenas at first,
   * and Netty has no more arenas than that a sixth of all memory would do for them.
   *
   * Threads that look at the same time may all be let through, and take some of that sixth.
   */

  /** What has so many bytes is large. */
  public static final int LEAST_LARGE = 64 << 10;

  private static final int PART_FOR_SMALL = 6;

  private DirectMemory() {}

  /** What large buffers may have together with all others. */
  private static long mostForLarge() {
    long most = PlatformDependent.maxDirectMemory();
    return most - most / PART_FOR_SMALL;
  }

  /**
   * Checks that so many bytes more may be taken.
   *
   * @throws StatusException when they may not: see {@link #refused}
   */
  public static void checkRoom(long bytes) {
    check(bytes, bytes);
  }

  /**
   * Checks that something that arrives, and lies here as far as it has come, leaves to small ones
   * what is theirs. Who sends it is refused before the memory is full, and not whoever comes then.
   *
   * @param bytes that have come
   * @throws StatusException when it does not: see {@link #refused}
   */
  public static void checkArriving(long bytes) {
    check(bytes, 0);
  }

  /** Checks that something large leaves to small ones what is theirs, with so many bytes more. */
  private static void check(long bytes, long more) {
    long taken = PlatformDependent.usedDirectMemory(); // Negative where Netty does not count.
    if (bytes >= LEAST_LARGE && Math.max(0, taken) + more > mostForLarge()) {
      throw refused(bytes, new OutOfMemoryError("the rest is for what is small"));
    }
  }

  /**
   * An empty buffer.
   *
   * @throws StatusException when there is no room for it: see {@link #refused}
   */
  public static ByteBuf take(int bytes, ByteBufAllocator allocator) {
    checkRoom(bytes);
    try {
      return allocator.directBuffer(bytes);
    } catch (OutOfMemoryError e) {
      throw refused(bytes, e);
    }
  }

  /**
   * Has a buffer take so many bytes more.
   *
   * @throws StatusException when there is no room, or when it lies on the heap, for want of room,
   *     and becomes larger than it may there: see {@link #refused}
   */
  public static void makeRoom(ByteBuf buffer, int bytes) {
    long whole = (long) buffer.writerIndex() + bytes;
    if (buffer.isDirect() && bytes > buffer.writableBytes()) {
      checkRoom(whole);
    } else if (!buffer.isDirect() && whole > buffer.maxCapacity()) {
      throw refused(whole, new OutOfMemoryError("only what is small is written on the heap"));
    }
    try {
      buffer.ensureWritable(bytes);
    } catch (OutOfMemoryError e) {
      if (!buffer.isDirect()) {
        throw e;
      }
      throw refused((long) buffer.writerIndex() + bytes, e);
    }
  }

  /**
   * What a request is told for whose tensors or text there is no room.
   *
   * @return {@link Status#INSUFFICIENT_MEMORY} where there could never be, else {@link
   *     Status#UNAVAILABLE}
   */
  public static StatusException refused(long bytes, OutOfMemoryError cause) {
    long all = PlatformDependent.maxDirectMemory();
    long most = bytes >= LEAST_LARGE ? mostForLarge() : all;
    long taken = PlatformDependent.usedDirectMemory(); // Negative where Netty does not count.
    String message =
        "there is no room for %d bytes of a request or its answer in the %d bytes outside Java's heap"
                .formatted(bytes, all)
            + (taken < 0 ? "" : ", of which %d are taken".formatted(taken))
            + (most < all ? ", and %d are left to small ones".formatted(all - most) : "")
            + "; ask for less, or raise -XX:MaxDirectMemorySize";
    return bytes > most
        ? new StatusException(Status.INSUFFICIENT_MEMORY, message, cause)
        : StatusException.unavailable(message, cause);
  }

  /**
   * Whether a lack of this, or of the heap, is what has led to an error, in whatever words that
   * says it by now.
   */
  public static boolean isBehind(@Nullable Throwable error) {
    return error != null && (error instanceof OutOfMemoryError || isBehind(error.getCause()));
  }
}
