package io.pipelane.bench.density;

import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The times of a number of requests by where they went, of which one runs at a time; written by
 * lanes' threads, read once all are in.
 */
final class Answers {
  private final long[] executeNanos;
  private final long[] stallNanos;
  private final long[] endNanos;
  private final long[] missedBytes;
  private final Map<Integer, long[]> segmentNanos = new ConcurrentHashMap<>();
  private final Outputs outputs;
  private final LongSupplier bytesLoaded;
  private final CountDownLatch missing;
  private volatile long loadedBefore;
  private final AtomicReference<@Nullable StatusException> failure = new AtomicReference<>();

  /**
   * None has come yet.
   *
   * @param bytesLoaded what all runs so far have sent for
   */
  Answers(int count, Outputs outputs, LongSupplier bytesLoaded) {
    this.executeNanos = new long[count];
    this.stallNanos = new long[count];
    this.endNanos = new long[count];
    this.missedBytes = new long[count];
    this.outputs = outputs;
    this.bytesLoaded = bytesLoaded;
    this.loadedBefore = bytesLoaded.getAsLong();
    this.missing = new CountDownLatch(count);
  }

  /** Takes the answer to a request. */
  ResultHandler handler(int request) {
    return new ResultHandler() {
      @Override
      public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
        return outputs.place(name, byteSize);
      }

      @Override
      public void completed(InferenceTimings timed) {
        executeNanos[request] = timed.executeNanos();
        stallNanos[request] = timed.stallNanos();
        long @Nullable [] segments = timed.segmentNanos();
        if (segments != null) {
          segmentNanos.put(request, segments);
        }
        endNanos[request] = System.nanoTime();
        long loaded = bytesLoaded.getAsLong();
        missedBytes[request] = loaded - loadedBefore;
        loadedBefore = loaded;
        missing.countDown();
      }

      @Override
      public void failed(StatusException error) {
        failure.compareAndSet(null, error);
        missing.countDown();
      }
    };
  }

  /**
   * Waits for all answers.
   *
   * @throws StatusException the first failure, if there was one
   */
  void await() {
    try {
      missing.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while answers are missing", e);
    }
    @Nullable StatusException first = failure.get();
    if (first != null) {
      throw first;
    }
  }

  /** How long a run took, its stall included. */
  long executeNanos(int request) {
    return executeNanos[request];
  }

  /** How long a run waited for weights. */
  long stallNanos(int request) {
    return stallNanos[request];
  }

  /** How long each segment of a run computed; null where it has not told. */
  long @Nullable [] segmentNanos(int request) {
    return segmentNanos.get(request);
  }

  /** What each run has sent for. */
  long[] missedBytes() {
    return missedBytes.clone();
  }

  /** When an answer was there, by {@link System#nanoTime}. */
  long endNanos(int request) {
    return endNanos[request];
  }
}
