package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.copy.StreamProgress;
import io.pipelane.lanes.cuda.driver.CudaMark;
import java.util.concurrent.locks.LockSupport;

/**
 * A wait for the device that burns no core. It sleeps for most of the time that is expected, then
 * spins for a moment, as waking up takes the system tens of microseconds, then blocks.
 */
final class CompletionWait {
  private static final long EARLY_NANOS = 400_000;
  private static final long SLEEP_FROM_NANOS = 1_000_000;
  private static final long SPIN_NANOS = 2_000_000;

  private CompletionWait() {}

  /**
   * Returns when a mark has been passed, which the stream's progress shows sooner than the driver.
   *
   * @param expectedNanos what that takes at least from now on; 0 or less when nobody knows
   */
  static void await(StreamProgress progress, int passed, CudaMark mark, long expectedNanos) {
    if (expectedNanos >= SLEEP_FROM_NANOS) {
      LockSupport.parkNanos(expectedNanos - EARLY_NANOS);
    }
    if (!progress.await(passed, SPIN_NANOS)) {
      mark.await();
    }
  }
}
