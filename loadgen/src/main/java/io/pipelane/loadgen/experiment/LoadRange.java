package io.pipelane.loadgen.experiment;

import java.util.ArrayList;
import java.util.List;

/**
 * Loads from a start to an end, both included, by equal steps.
 *
 * @param step also how finely a search within the range looks
 */
public record LoadRange(double start, double end, double step) {
  private static final int MAXIMUM_LOADS = 1_000;

  public LoadRange {
    if (!(start > 0 && end >= start && step > 0 && Double.isFinite(end) && Double.isFinite(step))) {
      throw new IllegalArgumentException(
          "a range needs 0 < start <= end and a positive step, all finite: %s:%s:%s"
              .formatted(start, end, step));
    }
    if ((end - start) / step >= MAXIMUM_LOADS) {
      throw new IllegalArgumentException(
          "a range holds at most " + MAXIMUM_LOADS + " loads; use a larger step than " + step);
    }
  }

  /** Reads {@code start:end:step}; the step is 1 and the end the start where they are left out. */
  public static LoadRange parse(String text) {
    String[] parts = text.split(":", -1);
    try {
      double start = Double.parseDouble(parts[0]);
      double end = parts.length > 1 ? Double.parseDouble(parts[1]) : start;
      double step = parts.length > 2 ? Double.parseDouble(parts[2]) : 1;
      if (parts.length <= 3) {
        return new LoadRange(start, end, step);
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw new IllegalArgumentException(
        "\"" + text + "\" is not a range; write START:END:STEP, like 100:1000:100");
  }

  /** Whether all loads are whole numbers, as connections are. */
  public boolean isWhole() {
    return start == Math.rint(start) && end == Math.rint(end) && step == Math.rint(step);
  }

  /** All loads, rising. */
  public List<Double> loads() {
    List<Double> loads = new ArrayList<>();
    for (int i = 0; start + i * step <= end * (1 + 1e-9); i++) {
      loads.add(start + i * step);
    }
    return loads;
  }
}
