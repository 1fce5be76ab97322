package io.pipelane.bench.plot;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A drawing of bars from 0, beside each other in groups; those of one name have one colour. */
public final class BarPlot {
  private static final double FILLED = 0.85;

  /** What the height of the area is a multiple of. */
  private static final double UNIT = 0.5;

  private final Map<String, Map<String, Double>> groups = new LinkedHashMap<>();
  private final String title;

  /**
   * A drawing without bars.
   *
   * @param title says what heights are
   */
  public BarPlot(String title) {
    this.title = title;
  }

  /** Adds a bar. */
  public void add(String group, String name, double height) {
    groups.computeIfAbsent(group, _ -> new LinkedHashMap<>()).put(name, height);
  }

  /** Writes the drawing. */
  public void write(Path file) throws IOException {
    List<String> names =
        new ArrayList<>(
            groups.values().stream().flatMap(bars -> bars.keySet().stream()).distinct().toList());
    double highest =
        groups.values().stream()
            .flatMap(bars -> bars.values().stream())
            .mapToDouble(height -> height)
            .max()
            .orElse(1);
    Axes axes =
        new Axes(title, Math.max(1, groups.size()), UNIT * Math.max(1, Math.ceil(highest / UNIT)));
    StringBuilder svg = new StringBuilder(axes.begin(false, true));
    double width = FILLED / Math.max(1, names.size());
    int place = 0;
    for (Map.Entry<String, Map<String, Double>> group : groups.entrySet()) {
      double left = place + (1 - FILLED) / 2;
      group
          .getValue()
          .forEach(
              (name, height) -> {
                int number = names.indexOf(name);
                svg.append(bar(axes, left + number * width, width, height, colour(number)));
              });
      svg.append(axes.labelBelow(place + 0.5, 1, group.getKey()));
      place++;
    }
    for (int i = 0; i < names.size(); i++) {
      svg.append(axes.legend(i, colour(i), names.get(i)));
    }
    Files.writeString(file, svg.append(axes.end()));
  }

  private static String bar(Axes axes, double left, double width, double height, String colour) {
    return String.format(
        Locale.ROOT,
        "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>%n",
        axes.x(left),
        axes.y(height),
        axes.x(left + width) - axes.x(left),
        axes.y(0) - axes.y(height),
        colour);
  }

  private static String colour(int number) {
    return Axes.COLOURS.get(number % Axes.COLOURS.size());
  }
}
