package io.pipelane.server.protocol;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.internal.PlatformDependent;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import org.jspecify.annotations.Nullable;

/**
 * The memory outside Java's heap that requests and answers take, which is as large as the JVM says.
 */
public final class DirectMemory {
  private DirectMemory() {}

  /**
   * An empty buffer.
   *
   * @throws StatusException when there is no room for it: see {@link #refused}
   */
  public static ByteBuf take(int bytes, ByteBufAllocator allocator) {
    try {
      return allocator.directBuffer(bytes);
    } catch (OutOfMemoryError e) {
      throw refused(bytes, e);
    }
  }

  /**
   * Has a buffer take so many bytes more.
   *
   * @throws StatusException when it lies in this memory, and there is no room: see {@link #refused}
   */
  public static void makeRoom(ByteBuf buffer, int bytes) {
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
    long most = PlatformDependent.maxDirectMemory();
    long taken = PlatformDependent.usedDirectMemory(); // Negative where Netty does not count.
    String message =
        "there is no room for %d bytes of a request or its answer in the %d bytes outside Java's heap"
                .formatted(bytes, most)
            + (taken < 0 ? "" : ", of which %d are taken".formatted(taken))
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
