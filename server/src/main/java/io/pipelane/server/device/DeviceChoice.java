package io.pipelane.server.device;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.DeviceSelection;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.runtime.OrtLibrary;
import java.nio.file.Path;
import java.util.List;
import java.util.function.IntSupplier;

/** The devices that {@code device.kind} comes to on this machine. */
sealed interface DeviceChoice {
  /**
   * The processor.
   *
   * @param names of the devices that it serves as
   * @param reason why it is not a GPU, where that was left open; else empty
   */
  record Processor(List<String> names, String reason) implements DeviceChoice {
    public Processor {
      names = List.copyOf(names);
    }

    /** The processor as one device, for want of a GPU. */
    static Processor instead(String reason) {
      return new Processor(new DeviceSelection.Cpu().names(), reason);
    }
  }

  /**
   * GPUs, in the order wanted.
   *
   * @param ordinals what the driver counts them by
   */
  record Gpus(List<Integer> ordinals) implements DeviceChoice {
    public Gpus {
      ordinals = List.copyOf(ordinals);
    }
  }

  /**
   * Chooses.
   *
   * @param library ONNX Runtime's
   * @throws StatusException {@link Status#UNAVAILABLE} when a GPU is wanted that cannot be had
   */
  static DeviceChoice of(DeviceSelection selection, Path library) {
    return of(
        selection,
        () -> {
          CudaDriver driver = CudaDriver.load();
          OrtLibrary.requireCudaProvider(library);
          return driver.deviceCount();
        });
  }

  /**
   * Chooses.
   *
   * @param gpus counts the GPUs, or throws {@link Status#UNAVAILABLE} with the reason why none can
   *     be used
   */
  static DeviceChoice of(DeviceSelection selection, IntSupplier gpus) {
    return switch (selection) {
      case DeviceSelection.Cpu cpu -> new Processor(cpu.names(), "");
      case DeviceSelection.Auto auto -> automatic(gpus);
      case DeviceSelection.Cuda wanted -> wanted(wanted, gpus);
    };
  }

  private static DeviceChoice automatic(IntSupplier gpus) {
    try {
      return gpus.getAsInt() == 0
          ? Processor.instead("the driver sees no GPU")
          : new Gpus(List.of(0));
    } catch (StatusException e) {
      if (e.status() != Status.UNAVAILABLE) {
        throw e;
      }
      return Processor.instead(String.valueOf(e.getMessage()));
    }
  }

  private static DeviceChoice wanted(DeviceSelection.Cuda wanted, IntSupplier gpus) {
    int count;
    try {
      count = gpus.getAsInt();
    } catch (StatusException e) {
      throw e.saying(
          "device.kind is %s, but %s (cpu serves without a GPU, auto where there is none)"
              .formatted(wanted, e.getMessage()));
    }
    for (int ordinal : wanted.ordinals()) {
      if (ordinal >= count) {
        throw new StatusException(
            Status.UNAVAILABLE,
            "device.kind is %s, but there is no cuda:%d: the driver sees %d, counted from 0"
                .formatted(wanted, ordinal, count));
      }
    }
    return new Gpus(wanted.ordinals());
  }
}
