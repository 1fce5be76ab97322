package io.pipelane.bench.residency;

import io.pipelane.switcher.simulator.CopyReason;
import io.pipelane.switcher.simulator.Replay;
import java.util.Arrays;

/**
 * A replay in figures; times in milliseconds, of all requests but the first quarter.
 *
 * @param requests of the whole trace
 * @param gigabytes moved in the whole trace
 * @param aheadGigabytes of those, what was moved before a run asked
 */
public record Outcome(
    int requests,
    double meanStall,
    double medianStall,
    double p99Stall,
    double p999Stall,
    double shareWithoutStall,
    double gigabytes,
    double aheadGigabytes,
    double meanLatency,
    double medianLatency,
    double p99Latency) {

  /** The figures of a replay. */
  public static Outcome of(Replay replay) {
    int requests = replay.stallNanos().length;
    Replay settled = replay.after(requests / 4);
    long demand = replay.bytes().getOrDefault(CopyReason.DEMAND, 0L);
    return new Outcome(
        requests,
        settled.meanStallNanos() / 1e6,
        millis(settled.stallNanos(), 0.5),
        millis(settled.stallNanos(), 0.99),
        millis(settled.stallNanos(), 0.999),
        settled.shareWithoutStall(),
        replay.bytesMoved() / 1e9,
        (replay.bytesMoved() - demand) / 1e9,
        Arrays.stream(settled.latencyNanos()).average().orElse(0) / 1e6,
        millis(settled.latencyNanos(), 0.5),
        millis(settled.latencyNanos(), 0.99));
  }

  private static double millis(long[] nanos, double quantile) {
    return Replay.quantile(nanos, quantile) / 1e6;
  }
}
