package io.pipelane.lanes.cuda.driver;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.util.NoSuchElementException;

/**
 * Some of a device's multiprocessors: work on its streams runs on no others, while other streams
 * use all of them. It is what CUDA calls a green context (from CUDA 12.4 on). Safe for any thread.
 */
public final class MultiprocessorShare implements AutoCloseable {
  /*
   * A stream stays what it is, and what is captured on it stays in the share wherever it is
   * launched, so a share has sessions and captures of its own. Memory and marks are those of the
   * device's primary context. CUdevResource is 144 bytes, its count of multiprocessors at 96.
   */
  private static final String LIBRARY = "libcuda.so.1";
  private static final long RESOURCE_BYTES = 144;
  private static final long COUNT_OFFSET = 96;
  private static final int MULTIPROCESSORS = 1;
  private static final int IN_DEFAULT_STREAM = 1;
  private static final int NON_BLOCKING = 1;
  private static final int PERCENT = 100;

  private final DriverFunction createStream;
  private final DriverFunction destroy;
  private final long handle;
  private final int multiprocessors;
  private boolean closed;

  private MultiprocessorShare(CudaContext context, int asked) {
    SymbolLookup driver = SymbolLookup.libraryLookup(LIBRARY, Arena.global());
    createStream = DriverFunction.of(driver, "cuGreenCtxStreamCreate", 4);
    destroy = DriverFunction.of(driver, "cuGreenCtxDestroy", 1);
    context.bind();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment all = arena.allocate(RESOURCE_BYTES, Long.BYTES);
      DriverFunction.of(driver, "cuDeviceGetDevResource", 3)
          .call(context.index(), all.address(), MULTIPROCESSORS);
      MemorySegment part = split(driver, arena, all, asked);
      multiprocessors = part.get(JAVA_INT, COUNT_OFFSET);
      MemorySegment description = arena.allocate(ADDRESS);
      DriverFunction.of(driver, "cuDevResourceGenerateDesc", 3)
          .call(description.address(), part.address(), 1);
      MemorySegment created = arena.allocate(ADDRESS);
      DriverFunction.of(driver, "cuGreenCtxCreate", 4)
          .call(
              created.address(), description.get(JAVA_LONG, 0), context.index(), IN_DEFAULT_STREAM);
      handle = created.get(JAVA_LONG, 0);
    }
  }

  /** The driver rounds the number up to what the device can be divided into. */
  private static MemorySegment split(
      SymbolLookup driver, Arena arena, MemorySegment all, int asked) {
    MemorySegment part = arena.allocate(RESOURCE_BYTES, Long.BYTES);
    MemorySegment rest = arena.allocate(RESOURCE_BYTES, Long.BYTES);
    MemorySegment groups = arena.allocateFrom(JAVA_INT, 1);
    DriverFunction.of(driver, "cuDevSmResourceSplitByCount", 6)
        .call(part.address(), groups.address(), all.address(), rest.address(), 0, asked);
    return part;
  }

  /**
   * Sets some multiprocessors of a device apart.
   *
   * @param percent of all, from 1 to 99; at least so many
   * @throws StatusException {@link Status#UNIMPLEMENTED} when the driver does not do that here
   */
  public static MultiprocessorShare open(CudaContext context, int percent) {
    try {
      return new MultiprocessorShare(context, count(context.multiprocessors(), percent));
    } catch (NoSuchElementException | CudaException e) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          "%d %% of the multiprocessors of cuda:%d cannot be set apart: %s"
              .formatted(percent, context.index(), e.getMessage()),
          e);
    }
  }

  /** How many multiprocessors a share is asked to have, of so many. */
  static int count(int all, int percent) {
    return Math.max(1, Math.ceilDiv(all * percent, PERCENT));
  }

  /** How many there are in it. */
  public int multiprocessors() {
    return multiprocessors;
  }

  /** A new stream whose work keeps to the share; it ends with the share's device. */
  public long newStream() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment stream = arena.allocate(ADDRESS);
      createStream.call(stream.address(), handle, NON_BLOCKING, 0);
      return stream.get(JAVA_LONG, 0);
    }
  }

  /** Gives the multiprocessors back; no stream of it is used any more. */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      destroy.call(handle);
    }
  }
}
