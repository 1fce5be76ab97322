package io.pipelane.bench.density;

import io.pipelane.bench.accelerator.Accelerator;
import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.accelerator.Accelerators;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.config.value.DeviceSelection;
import io.pipelane.lanes.calibration.Calibrator;
import io.pipelane.switcher.grouping.PipelineCosts;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Devices that stand idle beside the one that is asked, and lend it their links. */
final class LentLinks implements AutoCloseable {
  private final List<Accelerator> lenders = new ArrayList<>();

  private LentLinks() {}

  /**
   * Opens all selected devices but the first, with no more memory than measuring a link takes.
   *
   * @param link of each CPU device
   */
  static LentLinks open(AcceleratorOptions options, Path library, Bandwidth link) {
    ByteSize memory = new ByteSize(Calibrator.LARGEST_COPY);
    LentLinks links = new LentLinks();
    try {
      for (DeviceSelection lender : lenders(options.device())) {
        links.lenders.add(Accelerators.open(lender, library, options.pageSize(), memory, link));
      }
      return links;
    } catch (RuntimeException e) {
      links.close();
      throw e;
    }
  }

  private static List<DeviceSelection> lenders(DeviceSelection selection) {
    return switch (selection) {
      case DeviceSelection.Cpu cpu ->
          cpu.ordinals().stream()
              .skip(1)
              .<DeviceSelection>map(_ -> new DeviceSelection.Cpu())
              .toList();
      case DeviceSelection.Cuda cuda ->
          cuda.ordinals().stream()
              .skip(1)
              .<DeviceSelection>map(ordinal -> new DeviceSelection.Cuda(List.of(ordinal)))
              .toList();
      case DeviceSelection.Auto _ -> List.of();
    };
  }

  /**
   * Measures every link alone and lends those here.
   *
   * @param borrower on which nothing runs yet
   * @return what transfers to the borrower cost from now on
   * @throws StatusException when it does not reach one of the others
   */
  PipelineCosts lendTo(Accelerator borrower) {
    PipelineCosts alone = borrower.costs();
    if (lenders.isEmpty()) {
      return alone;
    }
    List<PipelineCosts> others = lenders.stream().map(Accelerator::costs).toList();
    for (Accelerator lender : lenders) {
      if (!borrower.device().borrowLink(lender.device())) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "--device: %s does not reach %s, whose link it should borrow; name devices that do"
                .formatted(borrower.device().name(), lender.device().name()));
      }
    }
    return alone.beside(others, borrower.device().copies().aloneBytes());
  }

  @Override
  public void close() {
    lenders.forEach(Accelerator::close);
  }
}
