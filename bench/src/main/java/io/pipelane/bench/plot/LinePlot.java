package io.pipelane.bench.plot;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** A drawing of lines through points, both axes from 0. */
public final class LinePlot {
  private final Map<String, List<Point>> lines = new LinkedHashMap<>();
  private final String title;

  private record Point(double x, double y) {}

  /**
   * A drawing without lines.
   *
   * @param title says what the axes are
   */
  public LinePlot(String title) {
    this.title = title;
  }

  /** Goes on with a line. */
  public void add(String line, double x, double y) {
    lines.computeIfAbsent(line, _ -> new ArrayList<>()).add(new Point(x, y));
  }

  /** Draws the lines of the shares of values that are not above x. */
  public void addDistribution(String line, double[] sorted) {
    add(line, 0, 0);
    for (int i = 0; i < sorted.length; i++) {
      add(line, sorted[i], (double) i / sorted.length);
      add(line, sorted[i], (i + 1.0) / sorted.length);
    }
  }

  /** Writes the drawing. */
  public void write(Path file) throws IOException {
    Axes axes = new Axes(title, most(true), most(false));
    StringBuilder svg = new StringBuilder(axes.begin(true, true));
    int place = 0;
    for (Map.Entry<String, List<Point>> line : lines.entrySet()) {
      String colour = Axes.COLOURS.get(place % Axes.COLOURS.size());
      String path =
          line.getValue().stream()
              .map(p -> String.format(Locale.ROOT, "%.1f,%.1f", axes.x(p.x), axes.y(p.y)))
              .collect(Collectors.joining(" "));
      svg.append(
          "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>%n"
              .formatted(path, colour));
      svg.append(axes.legend(place, colour, line.getKey()));
      place++;
    }
    Files.writeString(file, svg.append(axes.end()));
  }

  private double most(boolean isX) {
    double most =
        lines.values().stream()
            .flatMap(List::stream)
            .mapToDouble(point -> isX ? point.x : point.y)
            .max()
            .orElse(1);
    return Math.max(1e-9, most);
  }
}
