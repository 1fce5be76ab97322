package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.driver.CudaMark;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits for the device without burning a core: sleeps for most of the time that is expected, then
 * spins for a moment, as waking up takes the system tens of microseconds, then blocks.
 */
final class CompletionWait {
  private static final long SPIN_NANOS = 400_000;
  private static final long SLEEP_FROM_NANOS = 1_000_000;

  private CompletionWait() {}

  /**
   * Returns when a mark has been passed.
   *
   * @param expectedNanos what that should take from now on; 0 when nobody knows
   */
  static void await(CudaMark mark, long expectedNanos) {
    if (expectedNanos >= SLEEP_FROM_NANOS) {
      LockSupport.parkNanos(expectedNanos - SPIN_NANOS);
    }
    long deadline = System.nanoTime() + SPIN_NANOS;
    while (!mark.isDone()) {
      if (System.nanoTime() - deadline >= 0) {
        mark.await();
        return;
      }
      Thread.onSpinWait();
    }
  }
}
