package io.pipelane.switcher.simulator;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;

/**
 * The outcome of a trace's requests, in their order.
 *
 * @param stallNanos that each run waited for weights
 * @param latencyNanos from each request's coming to the end of its run; {@link #REFUSED} where it
 *     had none
 * @param runNanos that each run took
 * @param missedBytes that each run has sent for
 * @param models that they asked
 * @param bytes moved, by reason
 */
@SuppressWarnings("ArrayRecordComponent")
public record Replay(
    long[] stallNanos,
    long[] latencyNanos,
    long[] runNanos,
    long[] missedBytes,
    int[] models,
    Map<CopyReason, Long> bytes) {
  /** A stall that nobody notices. */
  public static final long NO_STALL_NANOS = 80_000;

  /** The latency of a request that was refused. */
  public static final long REFUSED = -1;

  public Replay {
    bytes = new EnumMap<>(bytes);
  }

  /** The requests from a place on, to leave the beginning out. */
  public Replay after(int requests) {
    return new Replay(
        Arrays.copyOfRange(stallNanos, requests, stallNanos.length),
        Arrays.copyOfRange(latencyNanos, requests, latencyNanos.length),
        Arrays.copyOfRange(runNanos, requests, runNanos.length),
        Arrays.copyOfRange(missedBytes, requests, missedBytes.length),
        Arrays.copyOfRange(models, requests, models.length),
        bytes);
  }

  public long bytesMoved() {
    return bytes.values().stream().mapToLong(Long::longValue).sum();
  }

  public double meanStallNanos() {
    return Arrays.stream(stallNanos).average().orElse(0);
  }

  /** The share of requests that did not wait for weights. */
  public double shareWithoutStall() {
    long without = Arrays.stream(stallNanos).filter(nanos -> nanos <= NO_STALL_NANOS).count();
    return stallNanos.length == 0 ? 1 : (double) without / stallNanos.length;
  }

  /** A quantile by the nearest rank. */
  public static long quantile(long[] values, double quantile) {
    long[] sorted = values.clone();
    Arrays.sort(sorted);
    int rank = (int) Math.ceil(quantile * sorted.length);
    return sorted.length == 0 ? 0 : sorted[Math.max(0, rank - 1)];
  }
}
