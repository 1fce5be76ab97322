package io.pipelane.bench.sharing;

import io.pipelane.bench.report.Results;
import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.switcher.sharing.SampleRing.Timed;
import io.pipelane.switcher.sharing.Sharing;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.Function;

/** What a device did in a stretch of time, as its monitor has seen it. */
final class DeviceFigures {
  private static final double PERCENT = 100;

  private DeviceFigures() {}

  /** Adds the means since a time, by {@link System#nanoTime}, to a case. */
  static void add(Results results, String name, Sharing sharing, long sinceNanos) {
    List<DeviceSample> samples =
        sharing.samples().kept().stream()
            .filter(timed -> timed.nanos() - sinceNanos >= 0)
            .map(Timed::sample)
            .toList();
    mean(samples, DeviceSample::utilization)
        .ifPresent(share -> results.add(name, SharingColumns.UTILIZATION, PERCENT * share));
    mean(samples, DeviceSample::activity)
        .ifPresent(share -> results.add(name, SharingColumns.ACTIVITY, PERCENT * share));
    mean(samples, DeviceSample::memory)
        .ifPresent(share -> results.add(name, SharingColumns.MEMORY, PERCENT * share));
  }

  private static OptionalDouble mean(
      List<DeviceSample> samples, Function<DeviceSample, OptionalDouble> figure) {
    return samples.stream().map(figure).flatMapToDouble(OptionalDouble::stream).average();
  }
}
