package io.pipelane.bench.fairness;

import io.pipelane.bench.plot.LinePlot;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The service of jobs over time, in seconds of a device that one of them would have alone. */
final class Shares {
  private final Map<String, List<Served>> jobs = new LinkedHashMap<>();

  /** Service that was given evenly between two times, in seconds. */
  private record Served(double from, double to, double seconds) {
    double within(double begin, double end) {
      double part = Math.max(0, Math.min(end, to) - Math.max(begin, from));
      return to == from ? 0 : seconds * part / (to - from);
    }
  }

  /** A job was served, for as long as it says of a device of its own. */
  void served(String job, double from, double to, double seconds) {
    jobs.computeIfAbsent(job, _ -> new ArrayList<>()).add(new Served(from, to, seconds));
  }

  /** A job's share of the device between two times, 1 for all of it. */
  double of(String job, double from, double to) {
    return jobs.getOrDefault(job, List.of()).stream()
            .mapToDouble(served -> served.within(from, to))
            .sum()
        / (to - from);
  }

  /** When the last service ended. */
  double end() {
    return jobs.values().stream().flatMap(List::stream).mapToDouble(Served::to).max().orElse(0);
  }

  /** Draws every job's share and all together, a point for each window of so many seconds. */
  void draw(Path file, double window, String title) throws IOException {
    LinePlot plot = new LinePlot(title);
    for (double from = 0; from + window <= end() + 1e-9; from += window) {
      double all = 0;
      for (String job : jobs.keySet()) {
        double share = of(job, from, from + window);
        plot.add(job, from, share);
        plot.add(job, from + window, share);
        all += share;
      }
      plot.add("all", from, all);
      plot.add("all", from + window, all);
    }
    plot.write(file);
  }
}
