package io.pipelane.switcher;

import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A version that is in service, or on its way in or out, and how many of its requests are under
 * way: one that leaves answers those that it has taken. Safe for any thread.
 */
final class InService {
  /*
   * A request is counted before it looks whether the version is open, and a version that leaves says
   * so before it looks at the count: one of them sees the other.
   */
  private static final long LOOK_AGAIN_NANOS = 1_000_000;

  private final AtomicInteger requests = new AtomicInteger();
  private volatile Phase phase = Phase.STARTING;

  private enum Phase {
    STARTING,
    OPEN,
    ENDING
  }

  void open() {
    phase = Phase.OPEN;
  }

  boolean isOpen() {
    return phase == Phase.OPEN;
  }

  /** Takes no more requests from now on; false when it did not take any before either. */
  synchronized boolean leave() {
    if (phase != Phase.OPEN) {
      return false;
    }
    phase = Phase.ENDING;
    return true;
  }

  /** Counts a request until the handler returned is told its end; {@link #refused} undoes it. */
  ResultHandler begin(ResultHandler handler) {
    requests.incrementAndGet();
    return new Counted(handler);
  }

  /** A request that has begun was not taken after all; its handler is told nothing. */
  void refused() {
    requests.decrementAndGet();
  }

  /** Waits until no request is under way, but not longer than so. */
  void awaitNone(Duration longest) {
    long end = System.nanoTime() + longest.toNanos();
    while (requests.get() > 0 && System.nanoTime() - end < 0) {
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
    }
  }

  private final class Counted implements ResultHandler {
    private final ResultHandler handler;

    Counted(ResultHandler handler) {
      this.handler = handler;
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      return handler.place(name, type, shape, byteSize);
    }

    @Override
    public void completed(InferenceTimings timings) {
      try {
        handler.completed(timings);
      } finally {
        refused();
      }
    }

    @Override
    public void failed(StatusException error) {
      try {
        handler.failed(error);
      } finally {
        refused();
      }
    }
  }
}
