package io.pipelane.bench.residency;

import io.pipelane.bench.plot.LinePlot;
import io.pipelane.bench.residency.Findings.SweepPoint;
import io.pipelane.config.section.ResidencyConfig.Policy;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** A drawing of mean stalls by device memory, a line for each policy. */
final class StallPlot {
  private StallPlot() {}

  /** Draws points, each policy's in rising order of memory. */
  static void write(Path file, List<SweepPoint> points) throws IOException {
    LinePlot plot =
        new LinePlot("Mean stall in ms by the share of all weights that memory has room for");
    for (Policy policy : Policy.values()) {
      points.stream()
          .filter(point -> point.policy() == policy)
          .forEach(point -> plot.add(policy.toString(), point.memoryShare(), point.meanStall()));
    }
    plot.write(file);
  }
}
