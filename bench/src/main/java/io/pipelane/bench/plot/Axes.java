package io.pipelane.bench.plot;

import java.util.List;
import java.util.Locale;

/**
 * An area to draw on, with scales that begin at 0 and a legend on its right; what is drawn is in
 * SVG.
 *
 * @param title above the area, with the units of both axes
 * @param widest the greatest x that is drawn
 * @param highest the greatest y that is drawn
 */
record Axes(String title, double widest, double highest) {
  static final List<String> COLOURS =
      List.of(
          "#1b6ca8", "#d1495b", "#edae49", "#66a182", "#6f6f6f", "#8f5ea2", "#00798c", "#a06a42");

  private static final int WIDTH = 800;
  private static final int HEIGHT = 420;
  private static final int LEFT = 60;
  private static final int RIGHT = 240;
  private static final int TOP = 30;
  private static final int BOTTOM = 50;
  private static final int TICKS = 5;
  private static final int LINE = 16;

  /** About as wide as one is. */
  private static final double LETTER = 6.5;

  /** The head of the drawing, the grid and its labels, and the title. */
  String begin(boolean withWidths, boolean withHeights) {
    StringBuilder svg =
        new StringBuilder(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\""
                    .formatted(WIDTH, HEIGHT)
                + " font-family=\"sans-serif\" font-size=\"12\">\n"
                + "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    svg.append(text(LEFT, TOP - 12, "start", title));
    for (int tick = 0; tick <= TICKS; tick++) {
      double x = widest * tick / TICKS;
      double y = highest * tick / TICKS;
      if (withWidths) {
        svg.append(line(x(x), y(0), x(x), y(highest), "#e4e4e4", 1));
        svg.append(text(x(x), y(0) + LINE, "middle", number(x, widest)));
      }
      if (withHeights) {
        svg.append(line(x(0), y(y), x(widest), y(y), "#e4e4e4", 1));
        svg.append(text(LEFT - 8, y(y) + 4, "end", number(y, highest)));
      }
    }
    return svg.toString();
  }

  String end() {
    return "</svg>\n";
  }

  /** A line of the legend. */
  String legend(int place, String colour, String name) {
    double y = TOP + 20.0 * place;
    return line(WIDTH - RIGHT + 16, y, WIDTH - RIGHT + 36, y, colour, 3)
        + text(WIDTH - RIGHT + 42, y + 4, "start", name);
  }

  /** A label on the left, at a height. */
  String label(double y, String name) {
    return text(LEFT - 8, y(y) + 4, "end", name);
  }

  /** A label below the area, in lines of as many words as there is room for. */
  String labelBelow(double x, double room, String name) {
    StringBuilder lines = new StringBuilder();
    StringBuilder line = new StringBuilder();
    double height = y(0) + LINE;
    for (String word : name.split(" ", -1)) {
      if (!line.isEmpty() && (line.length() + 1 + word.length()) * LETTER > x(room) - x(0)) {
        lines.append(text(x(x), height, "middle", line.toString()));
        line.setLength(0);
        height += LINE;
      }
      line.append(line.isEmpty() ? "" : " ").append(word);
    }
    return lines.append(text(x(x), height, "middle", line.toString())).toString();
  }

  double x(double value) {
    return LEFT + value / widest * (WIDTH - LEFT - RIGHT);
  }

  double y(double value) {
    return HEIGHT - BOTTOM - value / highest * (HEIGHT - TOP - BOTTOM);
  }

  static String line(double x1, double y1, double x2, double y2, String colour, int width) {
    return String.format(
        Locale.ROOT,
        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\""
            + " stroke-width=\"%d\"/>%n",
        x1,
        y1,
        x2,
        y2,
        colour,
        width);
  }

  private static String text(double x, double y, String anchor, String words) {
    return String.format(
        Locale.ROOT,
        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>%n",
        x,
        y,
        anchor,
        words);
  }

  private static String number(double value, double most) {
    return String.format(Locale.ROOT, most < 3 ? "%.2f" : most < 30 ? "%.1f" : "%.0f", value);
  }
}
