package io.pipelane.loadgen.measure;

import java.time.Duration;
import org.HdrHistogram.Histogram;

/** Histograms of latencies in nanoseconds, from 100 ns to an hour. */
final class Latencies {
  private static final long RESOLUTION_NANOS = 100;
  private static final long MAXIMUM_NANOS = Duration.ofHours(1).toNanos();

  private Latencies() {}

  /** A histogram that grows with its values and keeps so many decimal digits of them. */
  static Histogram histogram(int digits) {
    Histogram histogram = new Histogram(RESOLUTION_NANOS, 2 * RESOLUTION_NANOS, digits);
    histogram.setAutoResize(true);
    return histogram;
  }

  static void record(Histogram histogram, long nanos) {
    histogram.recordValue(Math.clamp(nanos, 0, MAXIMUM_NANOS));
  }

  /** Records a value together with those that it kept from being recorded. */
  static void record(Histogram histogram, long nanos, long expectedIntervalNanos) {
    histogram.recordValueWithExpectedInterval(
        Math.clamp(nanos, 0, MAXIMUM_NANOS), expectedIntervalNanos);
  }
}
