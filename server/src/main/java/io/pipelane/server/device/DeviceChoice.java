package io.pipelane.server.device;

import io.pipelane.config.DeviceSelection;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.runtime.OrtLibrary;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;

/** What {@code device.kind} comes to on this machine. */
public sealed interface DeviceChoice {
  /**
   * The processor.
   *
   * @param reason why it is not a GPU, where that was left open; else empty
   */
  record Processor(String reason) implements DeviceChoice {}

  /**
   * GPUs, in the order wanted.
   *
   * @param ordinals what the driver counts them by
   */
  record Gpus(Cuda cuda, List<Integer> ordinals) implements DeviceChoice {
    public Gpus {
      ordinals = List.copyOf(ordinals);
    }
  }

  /** CUDA as this process can use it. */
  record Cuda(CudaDriver driver, int devices) {
    /**
     * Loads the driver, and looks for ONNX Runtime's part.
     *
     * @param library ONNX Runtime's
     * @throws StatusException {@link Status#UNAVAILABLE} with the reason when one of them is
     *     missing
     */
    static Cuda load(Path library) {
      CudaDriver driver = CudaDriver.load();
      OrtLibrary.requireCudaProvider(library);
      return new Cuda(driver, driver.deviceCount());
    }
  }

  /**
   * Chooses.
   *
   * @param cuda loads CUDA, or throws {@link Status#UNAVAILABLE} with the reason
   * @throws StatusException {@link Status#UNAVAILABLE} when a GPU is wanted that cannot be had
   */
  static DeviceChoice of(DeviceSelection selection, Supplier<Cuda> cuda) {
    return switch (selection) {
      case DeviceSelection.Cpu cpu -> new Processor("");
      case DeviceSelection.Auto auto -> automatic(cuda);
      case DeviceSelection.Cuda wanted -> gpus(wanted, cuda);
    };
  }

  private static DeviceChoice automatic(Supplier<Cuda> cuda) {
    try {
      return new Gpus(cuda.get(), List.of(0));
    } catch (StatusException e) {
      if (e.status() != Status.UNAVAILABLE) {
        throw e;
      }
      return new Processor(String.valueOf(e.getMessage()));
    }
  }

  private static DeviceChoice gpus(DeviceSelection.Cuda wanted, Supplier<Cuda> loading) {
    Cuda cuda;
    try {
      cuda = loading.get();
    } catch (StatusException e) {
      throw new StatusException(
          e.status(),
          "device.kind is %s, but %s; use cpu, or auto to fall back to it"
              .formatted(wanted, e.getMessage()),
          e);
    }
    for (int ordinal : wanted.ordinals()) {
      if (ordinal >= cuda.devices()) {
        throw new StatusException(
            Status.UNAVAILABLE,
            "device.kind is %s, but there is no cuda:%d: the driver sees %d, counted from 0"
                .formatted(wanted, ordinal, cuda.devices()));
      }
    }
    return new Gpus(cuda, wanted.ordinals());
  }
}
