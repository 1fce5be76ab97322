package io.pipelane.bench.correctness;

import java.util.List;
import java.util.Locale;

/**
 * The straight line through samples of a process's memory with the least squares of distances.
 *
 * @param slopeMebibytesPerSecond how steeply the line rises
 * @param seconds from the first sample to the last
 */
record MemoryTrend(int count, double slopeMebibytesPerSecond, double seconds) {

  /** Memory at one moment. */
  record Sample(double seconds, double mebibytes) {
    @Override
    public String toString() {
      return String.format(Locale.ROOT, "%.1fs %.1fMiB", seconds, mebibytes);
    }
  }

  /** Fits a line to two samples or more, given in the order of their times. */
  static MemoryTrend of(List<Sample> samples) {
    if (samples.size() < 2) {
      throw new IllegalArgumentException("no line fits " + samples);
    }
    double meanSeconds = samples.stream().mapToDouble(Sample::seconds).average().orElseThrow();
    double meanMebibytes = samples.stream().mapToDouble(Sample::mebibytes).average().orElseThrow();
    double covariance = 0;
    double variance = 0;
    for (Sample sample : samples) {
      double distance = sample.seconds() - meanSeconds;
      covariance += distance * (sample.mebibytes() - meanMebibytes);
      variance += distance * distance;
    }
    double duration = samples.getLast().seconds() - samples.getFirst().seconds();
    return new MemoryTrend(samples.size(), covariance / variance, duration);
  }

  /** By how much the line rises from the first sample to the last. */
  double growthMebibytes() {
    return slopeMebibytesPerSecond * seconds;
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "%+.4f MiB/s x %.1f s = %+.2f MiB, fitted to %d samples",
        slopeMebibytesPerSecond,
        seconds,
        growthMebibytes(),
        count);
  }
}
