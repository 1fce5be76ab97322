package io.pipelane.server.placement;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.placement.MemberOverview.Work;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;

/** Devices that show what a test says, and a clock that goes when it says so. */
public final class FakeDevices {
  public static final Duration INTERVAL = Duration.ofMinutes(15);
  private static final Duration LOOK = Duration.ofSeconds(1);

  /** Whether the clock cannot be read. */
  public volatile boolean hasNoClock;

  private final AtomicLong nanos = new AtomicLong();
  private final Map<String, DeviceReading> readings = new LinkedHashMap<>();
  private final Map<ModelVersion, List<String>> able = new HashMap<>();
  private final Map<String, Double> onlineBusy = new LinkedHashMap<>();

  /** Healthy ones that nobody asks. */
  public FakeDevices(String... names) {
    for (String name : names) {
      readings.put(
          name,
          new DeviceReading(
              name,
              true,
              SharingState.HEALTHY,
              Work.NONE,
              Work.NONE,
              DeviceSample.UNKNOWN,
              DeviceReading.WHOLE));
    }
  }

  public JobPlacement open(Path folder) throws IOException {
    return JobPlacement.open(
        new PlacementSettings(folder, "test", INTERVAL),
        () -> List.copyOf(readings.values()),
        model -> able.getOrDefault(model, List.of()),
        this::nanos);
  }

  private long nanos() {
    if (hasNoClock) {
      throw new InternalError("there is no clock");
    }
    return nanos.get();
  }

  private void change(String device, UnaryOperator<DeviceReading> change) {
    readings.computeIfPresent(device, (_, reading) -> change.apply(reading));
  }

  public void become(String device, SharingState state) {
    change(
        device,
        r ->
            new DeviceReading(
                r.name(), r.usable(), state, r.online(), r.offline(), r.sample(), r.share()));
  }

  /** A model can be had on these alone. */
  public void serve(ModelVersion model, String... devices) {
    able.put(model, List.of(devices));
  }

  public void lose(String device) {
    change(
        device,
        r ->
            new DeviceReading(
                r.name(), false, r.state(), r.online(), r.offline(), r.sample(), r.share()));
  }

  /** Online requests of 10 ms take this share of the device's time from now on. */
  public void ask(String device, double share) {
    onlineBusy.put(device, share);
  }

  /** A device shows this of itself from now on. */
  public void show(String device, DeviceSample sample) {
    change(
        device,
        r ->
            new DeviceReading(
                r.name(), r.usable(), r.state(), r.online(), r.offline(), sample, r.share()));
  }

  /** Offline work has this share of the multiprocessors to itself from now on. */
  public void share(String device, double share) {
    change(
        device,
        r ->
            new DeviceReading(
                r.name(), r.usable(), r.state(), r.online(), r.offline(), r.sample(), share));
  }

  /** A second passes, and placement looks. */
  public void look(JobPlacement placement) {
    nanos.addAndGet(LOOK.toNanos());
    onlineBusy.forEach(
        (device, share) ->
            change(
                device,
                r ->
                    new DeviceReading(
                        r.name(),
                        r.usable(),
                        r.state(),
                        new Work(
                            r.online().requests() + Math.round(100 * share),
                            r.online().runNanos() + Math.round(1e9 * share)),
                        r.offline(),
                        r.sample(),
                        r.share())));
    placement.look();
  }

  /** So much time passes that jobs are matched at its end. */
  public void interval(JobPlacement placement) {
    long before = placement.counts().matchings();
    while (placement.counts().matchings() == before) {
      look(placement);
    }
  }

  /** What a device shows. */
  DeviceReading reading(String device) {
    return Objects.requireNonNull(readings.get(device));
  }

  /** A job that has a device at once. */
  static PlacedJob admit(JobPlacement placement, ModelVersion model) {
    return placement.admit(model).orElseThrow();
  }

  /** A job that has moved where it was to go. */
  static PlacedJob settled(PlacedJob job) {
    assertTrue(job.settle());
    assertFalse(job.mustMove());
    return job;
  }
}
