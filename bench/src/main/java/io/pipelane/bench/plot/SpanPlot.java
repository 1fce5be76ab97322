package io.pipelane.bench.plot;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A drawing of who was there when, grey, and who ran when, black: a row for each. */
public final class SpanPlot {
  private static final String WAITING = "#bdbdbd";
  private static final String RUNNING = "#000000";
  private static final double ROW = 0.6;

  private final Map<String, List<Bar>> rows = new LinkedHashMap<>();
  private final String title;
  private final double most;

  private record Bar(double from, double to, String colour) {}

  /**
   * A drawing without rows.
   *
   * @param title says what the axis is
   * @param most where the axis ends; what is beyond is cut off
   */
  public SpanPlot(String title, double most) {
    this.title = title;
    this.most = most;
  }

  /** Somebody was there. */
  public void present(String row, double from, double to) {
    add(row, from, to, WAITING);
  }

  /** Somebody ran. */
  public void ran(String row, double from, double to) {
    add(row, from, to, RUNNING);
  }

  private void add(String row, double from, double to, String colour) {
    double left = Math.max(0, from);
    double right = Math.min(most, to);
    if (left < right) {
      rows.computeIfAbsent(row, _ -> new ArrayList<>()).add(new Bar(left, right, colour));
    }
  }

  /** Writes the drawing, the first row on top. */
  public void write(Path file) throws IOException {
    Axes axes = new Axes(title, most, Math.max(1, rows.size()));
    StringBuilder svg = new StringBuilder(axes.begin(true, false));
    int place = rows.size();
    for (Map.Entry<String, List<Bar>> row : rows.entrySet()) {
      place--;
      svg.append(axes.label(place + ROW / 2, row.getKey()));
      for (Bar bar : row.getValue()) {
        double height = axes.y(place) - axes.y(place + ROW);
        svg.append(
            String.format(
                Locale.ROOT,
                "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"/>%n",
                axes.x(bar.from),
                axes.y(place + ROW),
                axes.x(bar.to) - axes.x(bar.from),
                height,
                bar.colour));
      }
    }
    svg.append(axes.legend(0, WAITING, "waiting")).append(axes.legend(1, RUNNING, "running"));
    Files.writeString(file, svg.append(axes.end()));
  }
}
