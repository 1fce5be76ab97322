package io.pipelane.bench.accelerator;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.config.value.DeviceSelection;
import io.pipelane.lanes.calibration.Calibrator;
import java.nio.file.Path;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** The opening of the accelerator that is to be measured. */
public final class Accelerators {
  private static final String CPU_PAGE = "2MiB";
  private static final String GPU_PAGE = "16MiB";

  /** A model in two forms, and what rounding to pages adds to each. */
  private static final int COPIES = 2;

  private Accelerators() {}

  /**
   * Opens a device with room for every model alone, in both its forms.
   *
   * @param largestModel bytes of the largest model file
   */
  public static Accelerator open(
      DeviceSelection selection, Path library, @Nullable String pageSize, long largestModel) {
    long bytes = Math.max(largestModel, Calibrator.LARGEST_COPY);
    return open(selection, library, pageSize, page -> weights(page, bytes), Bandwidth.UNLIMITED);
  }

  /**
   * Opens a device with so much memory for weights, in whole pages.
   *
   * @param link imitates a slower one, on the CPU
   */
  public static Accelerator open(
      DeviceSelection selection,
      Path library,
      @Nullable String pageSize,
      ByteSize weights,
      Bandwidth link) {
    UnaryOperator<ByteSize> wholePages =
        page -> new ByteSize(weights.bytes() / page.bytes() * page.bytes());
    return open(selection, library, pageSize, wholePages, link);
  }

  private static Accelerator open(
      DeviceSelection selection,
      Path library,
      @Nullable String pageSize,
      UnaryOperator<ByteSize> weights,
      Bandwidth link) {
    return switch (selection) {
      case DeviceSelection.Cpu cpu -> {
        ByteSize page = ByteSize.parse(pageSize == null ? CPU_PAGE : pageSize);
        yield new CpuAccelerator(library, weights.apply(page), page, link);
      }
      case DeviceSelection.Cuda cuda -> {
        ByteSize page = ByteSize.parse(pageSize == null ? GPU_PAGE : pageSize);
        int index = cuda.ordinals().getFirst();
        yield new CudaAccelerator(library, index, weights.apply(page), page);
      }
      case DeviceSelection.Auto auto ->
          throw new IllegalArgumentException("--device: say which, " + auto + " is not measured");
    };
  }

  private static ByteSize weights(ByteSize page, long bytes) {
    return new ByteSize(COPIES * (Math.ceilDiv(bytes, page.bytes()) + 1) * page.bytes());
  }
}
