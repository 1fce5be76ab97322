package io.pipelane.switcher.simulator;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** The record of a replay, kept as it happens. */
final class Recording {
  private final List<TracedUse> trace;
  private final long[] stallNanos;
  private final long[] latencyNanos;
  private final long[] runNanos;
  private final long[] missedBytes;
  private final Map<CopyReason, Long> bytes = new EnumMap<>(CopyReason.class);

  Recording(List<TracedUse> trace) {
    this.trace = trace;
    this.stallNanos = new long[trace.size()];
    this.latencyNanos = new long[trace.size()];
    this.runNanos = new long[trace.size()];
    this.missedBytes = new long[trace.size()];
  }

  void began(int request, long missed) {
    missedBytes[request] = missed;
  }

  void ran(int request, long stall, long beginNanos, long endNanos) {
    stallNanos[request] = stall;
    runNanos[request] = endNanos - beginNanos;
    latencyNanos[request] = endNanos - trace.get(request).nanos();
  }

  void refused(int request) {
    latencyNanos[request] = Replay.REFUSED;
  }

  void copied(Copied copied) {
    bytes.merge(copied.reason(), copied.byteSize(), Long::sum);
  }

  Replay replay() {
    int[] models = trace.stream().mapToInt(TracedUse::model).toArray();
    return new Replay(stallNanos, latencyNanos, runNanos, missedBytes, models, bytes);
  }
}
