package io.pipelane.bench.sharing;

import io.pipelane.bench.plot.BarPlot;
import io.pipelane.bench.report.Column;
import io.pipelane.bench.report.Results;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Drawings of what the ways cost and bring: a group of bars for each rate, a bar for each way. */
final class SharingPlots {
  private SharingPlots() {}

  static void draw(
      Results results,
      OnlineRequests requests,
      List<Scene> scenes,
      Column column,
      String title,
      Path file)
      throws IOException {
    BarPlot plot = new BarPlot(title);
    for (double rate : requests.rates()) {
      for (Scene scene : scenes) {
        results
            .median(requests.caseName(rate, scene), column)
            .ifPresent(value -> plot.add(requests.name(rate), scene.toString(), value));
      }
    }
    plot.write(file);
  }
}
