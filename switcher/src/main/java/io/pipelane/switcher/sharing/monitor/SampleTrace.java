package io.pipelane.switcher.sharing.monitor;

import io.pipelane.lanes.monitor.DeviceSample;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The samples that monitors have kept, as comma-separated values: a line for each sample, whose
 * columns {@link #HEADER} names. What is not measured is empty; times are those of the device's own
 * clock.
 */
public final class SampleTrace {
  public static final String HEADER =
      "device,nanos,utilization,activity,clock,memory,memory_pressure,host_memory,watts,celsius,"
          + "ecc_errors,slowed_by";

  private SampleTrace() {}

  /** The samples of devices, by their names. */
  public static String of(Map<String, List<SampleRing.Timed>> devices) {
    StringBuilder text = new StringBuilder(HEADER).append('\n');
    devices.forEach(
        (device, samples) ->
            samples.forEach(timed -> text.append(line(device, timed)).append('\n')));
    return text.toString();
  }

  private static String line(String device, SampleRing.Timed timed) {
    DeviceSample sample = timed.sample();
    return Stream.of(
            device,
            Long.toString(timed.nanos()),
            text(sample.work().utilization()),
            text(sample.work().activity()),
            text(sample.work().clock()),
            text(sample.memory().taken()),
            text(sample.memory().hostPressure()),
            text(sample.memory().hostTaken()),
            text(sample.health().watts()),
            text(sample.health().celsius()),
            text(sample.health().eccErrors()),
            text(sample.work().slowedBy()))
        .collect(Collectors.joining(","));
  }

  private static String text(OptionalDouble value) {
    return value.isPresent() ? Float.toString((float) value.getAsDouble()) : "";
  }

  private static String text(OptionalLong value) {
    return value.isPresent() ? Long.toString(value.getAsLong()) : "";
  }
}
