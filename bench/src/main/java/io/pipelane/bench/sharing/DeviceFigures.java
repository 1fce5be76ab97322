package io.pipelane.bench.sharing;

import io.pipelane.bench.report.Results;
import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.switcher.sharing.EvictionCounts;
import io.pipelane.switcher.sharing.Sharing;
import io.pipelane.switcher.sharing.monitor.SampleRing.Timed;
import io.pipelane.switcher.sharing.trial.ShareOverview;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.Function;

/** The figures of a device, as its monitor has seen it, and of evictions from it. */
final class DeviceFigures {
  private static final double PERCENT = 100;
  private static final double NANOS_A_MILLI = 1e6;
  private static final double BYTES_A_MEGABYTE = 1e6;

  private DeviceFigures() {}

  /** Adds the means since a time, by {@link System#nanoTime}, to a case. */
  static void add(Results results, String name, Sharing sharing, long sinceNanos) {
    List<DeviceSample> samples =
        sharing.samples().kept().stream()
            .filter(timed -> timed.nanos() - sinceNanos >= 0)
            .map(Timed::sample)
            .toList();
    mean(samples, sample -> sample.work().utilization())
        .ifPresent(share -> results.add(name, SharingColumns.UTILIZATION, PERCENT * share));
    mean(samples, sample -> sample.work().activity())
        .ifPresent(share -> results.add(name, SharingColumns.ACTIVITY, PERCENT * share));
    mean(samples, sample -> sample.memory().taken())
        .ifPresent(share -> results.add(name, SharingColumns.MEMORY, PERCENT * share));
  }

  /** Adds what evicting offline work has taken, to a case; nothing where no order met a run. */
  static void add(Results results, String name, EvictionCounts evictions) {
    if (evictions.stops() > 0) {
      results.add(name, SharingColumns.LONGEST_STOP, evictions.longestStopNanos() / NANOS_A_MILLI);
      results.add(
          name,
          SharingColumns.MEAN_STOP,
          evictions.stopNanos() / NANOS_A_MILLI / evictions.stops());
    }
    if (evictions.memoryReturns() > 0) {
      double returns = evictions.memoryReturns();
      results.add(name, SharingColumns.MEMORY_RETURNS, returns);
      results.add(
          name, SharingColumns.MEAN_RETURNED, evictions.memoryBytes() / BYTES_A_MEGABYTE / returns);
      results.add(
          name,
          SharingColumns.MEAN_MEMORY_RETURN,
          evictions.memoryNanos() / NANOS_A_MILLI / returns);
      results.add(
          name,
          SharingColumns.LONGEST_MEMORY_RETURN,
          evictions.longestMemoryNanos() / NANOS_A_MILLI);
    }
  }

  /** Adds the share of the multiprocessors that offline work has now; nothing without one. */
  static void add(Results results, String name, ShareOverview share) {
    if (share.state() != ShareOverview.State.OFF) {
      results.add(name, SharingColumns.SIZE, share.percent());
    }
  }

  private static OptionalDouble mean(
      List<DeviceSample> samples, Function<DeviceSample, OptionalDouble> figure) {
    return samples.stream().map(figure).flatMapToDouble(OptionalDouble::stream).average();
  }
}
