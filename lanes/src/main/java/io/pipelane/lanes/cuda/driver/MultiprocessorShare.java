package io.pipelane.lanes.cuda.driver;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
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

  private final MethodHandle createStream;
  private final MethodHandle destroy;
  private final MemorySegment handle;
  private final int multiprocessors;
  private boolean closed;

  private MultiprocessorShare(CudaContext context, int asked) {
    SymbolLookup driver = SymbolLookup.libraryLookup(LIBRARY, Arena.global());
    createStream = function(driver, "cuGreenCtxStreamCreate", ADDRESS, ADDRESS, JAVA_INT, JAVA_INT);
    destroy = function(driver, "cuGreenCtxDestroy", ADDRESS);
    context.bind();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment all = arena.allocate(RESOURCE_BYTES, Long.BYTES);
      MethodHandle getResource =
          function(driver, "cuDeviceGetDevResource", JAVA_INT, ADDRESS, JAVA_INT);
      call("cuDeviceGetDevResource", getResource, context.index(), all, MULTIPROCESSORS);
      MemorySegment part = split(driver, arena, all, asked);
      multiprocessors = part.get(JAVA_INT, COUNT_OFFSET);
      MemorySegment description = arena.allocate(ADDRESS);
      MethodHandle describe =
          function(driver, "cuDevResourceGenerateDesc", ADDRESS, ADDRESS, JAVA_INT);
      call("cuDevResourceGenerateDesc", describe, description, part, 1);
      MemorySegment created = arena.allocate(ADDRESS);
      MethodHandle create =
          function(driver, "cuGreenCtxCreate", ADDRESS, ADDRESS, JAVA_INT, JAVA_INT);
      call(
          "cuGreenCtxCreate",
          create,
          created,
          description.get(ADDRESS, 0),
          context.index(),
          IN_DEFAULT_STREAM);
      handle = created.get(ADDRESS, 0);
    }
  }

  /** The driver rounds the number up to what the device can be divided into. */
  private static MemorySegment split(
      SymbolLookup driver, Arena arena, MemorySegment all, int asked) {
    MemorySegment part = arena.allocate(RESOURCE_BYTES, Long.BYTES);
    MemorySegment rest = arena.allocate(RESOURCE_BYTES, Long.BYTES);
    MemorySegment groups = arena.allocateFrom(JAVA_INT, 1);
    MethodHandle split =
        function(
            driver,
            "cuDevSmResourceSplitByCount",
            ADDRESS,
            ADDRESS,
            ADDRESS,
            ADDRESS,
            JAVA_INT,
            JAVA_INT);
    call("cuDevSmResourceSplitByCount", split, part, groups, all, rest, 0, asked);
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
      call("cuGreenCtxStreamCreate", createStream, stream, handle, NON_BLOCKING, 0);
      return stream.get(JAVA_LONG, 0);
    }
  }

  private static MethodHandle function(
      SymbolLookup driver, String name, MemoryLayout... parameters) {
    return Linker.nativeLinker()
        .downcallHandle(driver.findOrThrow(name), FunctionDescriptor.of(JAVA_INT, parameters));
  }

  private static void call(String name, MethodHandle function, Object... arguments) {
    int result;
    try {
      result = (int) function.invokeWithArguments(arguments);
    } catch (Throwable t) {
      throw new AssertionError(name + " cannot be called", t);
    }
    if (result != 0) {
      throw CudaException.of(result, name);
    }
  }

  /** Gives the multiprocessors back; no stream of it is used any more. */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      call("cuGreenCtxDestroy", destroy, handle);
    }
  }
}
