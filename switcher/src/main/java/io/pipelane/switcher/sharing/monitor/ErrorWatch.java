package io.pipelane.switcher.sharing.monitor;

import io.pipelane.lanes.monitor.DeviceError;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.function.Predicate;

/**
 * The watch over a device's errors, which has workers be reset when one is reported that what they
 * run may not survive (MuxFlow §4.2). Belongs to one thread.
 */
public final class ErrorWatch {
  /*
   * One fault is reported several times over, by every engine that it stops, and the end of the
   * process by which it is got over is reported, too. So what comes within BURST of a reset belongs
   * to that.
   */
  private static final System.Logger LOG = System.getLogger(ErrorWatch.class.getName());
  private static final long BURST_NANOS = 2_000_000_000;

  private boolean hasReset;
  private long resetNanos;

  /**
   * Takes in what was reported.
   *
   * @param reset told why, once a burst of errors at most; answers whether there was anything to
   *     reset
   */
  public void reported(List<DeviceError> errors, long nowNanos, Predicate<String> reset) {
    for (DeviceError error : errors) {
      LOG.log(Level.WARNING, "the device reports {0}", error);
      boolean isOfBurst = hasReset && nowNanos - resetNanos < BURST_NANOS;
      if (error.endsWork() && !isOfBurst) {
        hasReset = reset.test("the device has reported " + error);
        resetNanos = nowNanos;
      }
    }
  }
}
