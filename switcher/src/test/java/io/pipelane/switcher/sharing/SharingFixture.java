package io.pipelane.switcher.sharing;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.monitor.DeviceError;
import io.pipelane.lanes.monitor.DeviceMonitor;
import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.lanes.monitor.DeviceSample.Health;
import io.pipelane.lanes.monitor.DeviceSample.Memory;
import io.pipelane.lanes.monitor.DeviceSample.Work;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.Deadline;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.RunPlace;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;

/** The sharing of a device whose samples, losses and errors are the test's. */
abstract class SharingFixture {
  static final long SECOND = 1_000_000_000L;

  final AtomicLong now = new AtomicLong();
  DeviceSample sample = sample(0.2, 1, 0.5);
  boolean lost;
  List<DeviceError> errors = List.of();
  final Sharing sharing =
      new Sharing(
          new SharingSettings(
              PipelaneConfig.of(Map.of("sharing.memory", "80/90/95")).sharing(), new Recorded()),
          0,
          1,
          0,
          List.of(),
          now::get);

  static InferenceRequest due(Deadline deadline) {
    return new InferenceRequest(
        new ModelVersion("m", 1),
        List.of(),
        List.of(),
        deadline,
        Priority.ONLINE,
        Optional.empty(),
        Optional.empty(),
        RunPlace.ANY);
  }

  private final class Recorded implements DeviceMonitor {
    @Override
    public DeviceSample sample() {
      if (lost) {
        throw new StatusException(Status.DEVICE_FAILURE, "the GPU is lost");
      }
      return sample;
    }

    @Override
    public List<DeviceError> errors() {
      List<DeviceError> reported = errors;
      errors = List.of();
      return reported;
    }

    @Override
    public OptionalLong memoryBytes() {
      return OptionalLong.empty();
    }

    @Override
    public String source() {
      return "a recording";
    }

    @Override
    public void close() {}
  }

  static DeviceSample sample(double activity, double clock, double memory) {
    OptionalDouble busy = OptionalDouble.of(activity);
    return new DeviceSample(
        new Work(busy, busy, OptionalDouble.of(clock), OptionalLong.empty()),
        Memory.ofDevice(OptionalDouble.of(memory)),
        Health.UNKNOWN);
  }

  /** A busy device whose activity NVML does not tell. */
  static DeviceSample withoutActivity() {
    return new DeviceSample(
        new Work(
            OptionalDouble.of(1),
            OptionalDouble.empty(),
            OptionalDouble.empty(),
            OptionalLong.empty()),
        Memory.UNKNOWN,
        Health.UNKNOWN);
  }

  static DeviceSample host(double pressure, double taken) {
    DeviceSample device = sample(0.2, 1, 0.5);
    return new DeviceSample(
        device.work(),
        new Memory(device.memory().taken(), OptionalDouble.of(pressure), OptionalDouble.of(taken)),
        device.health());
  }

  /** Lets a tenth of a second pass, and looks at the device. */
  SharingState look() {
    now.addAndGet(SECOND / 10);
    sharing.look();
    return sharing.overview().seen().state();
  }
}
