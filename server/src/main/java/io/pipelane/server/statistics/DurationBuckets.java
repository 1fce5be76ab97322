package io.pipelane.server.statistics;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * Durations counted by size, in steps of 1, 2.5 and 5 from 50 µs to 10 s. Adding allocates nothing.
 * {@link ModelCounters} guards its own, and gives out copies.
 */
public final class DurationBuckets {
  private static final long[] LIMITS_MICROS = {
    50,
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000
  };

  private final long[] counts;
  private long nanos;

  DurationBuckets() {
    counts = new long[LIMITS_MICROS.length + 1];
  }

  private DurationBuckets(long[] counts, long nanos) {
    this.counts = counts;
    this.nanos = nanos;
  }

  DurationBuckets copy() {
    return new DurationBuckets(counts.clone(), nanos);
  }

  void add(long durationNanos) {
    int at = Arrays.binarySearch(LIMITS_MICROS, Math.ceilDiv(durationNanos, 1_000L));
    counts[at < 0 ? -at - 1 : at]++;
    nanos += durationNanos;
  }

  /** The upper limits of all buckets in seconds; the last is infinite. */
  public static double[] limitsSeconds() {
    double[] limits = Arrays.stream(LIMITS_MICROS).mapToDouble(micros -> micros / 1e6).toArray();
    double[] all = Arrays.copyOf(limits, limits.length + 1);
    all[limits.length] = Double.POSITIVE_INFINITY;
    return all;
  }

  /** How many durations lie in each bucket, not added up. */
  public long[] counts() {
    return counts.clone();
  }

  public double sumSeconds() {
    return nanos / (double) TimeUnit.SECONDS.toNanos(1);
  }
}
