package io.pipelane.loadgen.measure;

import io.pipelane.loadgen.settings.Stability;
import java.util.ArrayDeque;
import java.util.Deque;
import org.HdrHistogram.Histogram;

/**
 * The rule that says when throughput and latency have settled: over the last three windows the
 * largest value exceeds the smallest by no more than a share, for both. One thread at a time.
 */
final class StabilityRule {
  private final Stability stability;
  private final Deque<Figures> last = new ArrayDeque<>();

  private record Figures(double throughput, double latency) {}

  StabilityRule(Stability stability) {
    this.stability = stability;
  }

  /**
   * Takes the answers that came in a window, which lasted so long.
   *
   * @return whether the last three windows agree
   */
  boolean accept(Histogram completedNanos, long windowNanos) {
    double latency =
        stability.percentile() > 0
            ? completedNanos.getValueAtPercentile(stability.percentile())
            : completedNanos.getMean();
    double perSecond = completedNanos.getTotalCount() * 1e9 / Math.max(1, windowNanos);
    last.add(new Figures(perSecond, latency));
    if (last.size() > Stability.WINDOWS) {
      last.remove();
    }
    return last.size() == Stability.WINDOWS
        && agree(last.stream().mapToDouble(Figures::throughput).toArray())
        && agree(last.stream().mapToDouble(Figures::latency).toArray());
  }

  private boolean agree(double... values) {
    double smallest = Double.MAX_VALUE;
    double largest = 0;
    for (double value : values) {
      smallest = Math.min(smallest, value);
      largest = Math.max(largest, value);
    }
    return largest > 0 && largest <= smallest * (1 + stability.share());
  }
}
