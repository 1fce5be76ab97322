package io.pipelane.bench.residency;

import io.pipelane.bench.residency.Findings.SweepPoint;
import io.pipelane.config.ResidencyConfig.Policy;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** A drawing of mean stalls by device memory, a line for each policy. */
final class StallPlot {
  private static final int WIDTH = 720;
  private static final int HEIGHT = 420;
  private static final int LEFT = 60;
  private static final int RIGHT = 160;
  private static final int TOP = 30;
  private static final int BOTTOM = 50;
  private static final List<String> COLOURS =
      List.of("#1b6ca8", "#d1495b", "#edae49", "#66a182", "#6f6f6f");

  private final StringBuilder svg = new StringBuilder();
  private final double most;

  private StallPlot(double most) {
    this.most = most;
  }

  /** Draws points, each policy's in rising order of memory. */
  static void write(Path file, List<SweepPoint> points) throws IOException {
    double most = points.stream().mapToDouble(SweepPoint::meanStall).max().orElse(1);
    Files.writeString(file, new StallPlot(Math.max(1e-3, most)).draw(points));
  }

  private String draw(List<SweepPoint> points) {
    svg.append(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\""
                .formatted(WIDTH, HEIGHT)
            + " font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    text(
        LEFT,
        TOP - 12,
        "start",
        "Mean stall in ms by share of all weights that memory has room for");
    for (int tick = 0; tick <= 5; tick++) {
      double part = tick / 5.0;
      line(x(part), y(0), x(part), y(most), "#e4e4e4");
      line(x(0), y(part * most), x(1), y(part * most), "#e4e4e4");
      text(x(part), y(0) + 18, "middle", Math.round(100 * part) + " %");
      text(LEFT - 8, y(part * most) + 4, "end", String.format(Locale.ROOT, "%.2f", part * most));
    }
    List<Policy> policies = List.of(Policy.values());
    for (int i = 0; i < policies.size(); i++) {
      Policy policy = policies.get(i);
      String colour = COLOURS.get(i);
      String path =
          points.stream()
              .filter(point -> point.policy() == policy)
              .map(p -> coordinates(x(p.memoryShare()), y(p.meanStall())))
              .collect(Collectors.joining(" "));
      svg.append(
          "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>%n"
              .formatted(path, colour));
      double legend = TOP + 20.0 * i;
      line(WIDTH - RIGHT + 16, legend, WIDTH - RIGHT + 36, legend, colour);
      text(WIDTH - RIGHT + 42, legend + 4, "start", policy.toString());
    }
    return svg.append("</svg>\n").toString();
  }

  private static double x(double share) {
    return LEFT + share * (WIDTH - LEFT - RIGHT);
  }

  private double y(double stall) {
    return HEIGHT - BOTTOM - stall / most * (HEIGHT - TOP - BOTTOM);
  }

  private static String coordinates(double x, double y) {
    return String.format(Locale.ROOT, "%.1f,%.1f", x, y);
  }

  private void line(double x1, double y1, double x2, double y2, String colour) {
    svg.append(
        String.format(
            Locale.ROOT,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>%n",
            x1,
            y1,
            x2,
            y2,
            colour));
  }

  private void text(double x, double y, String anchor, String words) {
    svg.append(
        String.format(
            Locale.ROOT,
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>%n",
            x,
            y,
            anchor,
            words));
  }
}
