package io.pipelane.switcher.residency;

import java.util.Arrays;
import java.util.function.IntToDoubleFunction;

/**
 * The stall of a model's run by the number of leading pages that are on the device, in nanoseconds.
 * What each page is worth follows from the curve's lower convex envelope.
 */
public final class StallCurve {
  /*
   * Stalls need not be convex: the first pages of a model that is bound by the link save as much as
   * those behind, and a page that ends inside a segment saves nothing by itself. On the envelope
   * gains fall from page to page, so choosing pages by gain alone always chooses a prefix. A page in
   * the middle of an edge stands for its edge: it is worth having because of those that follow.
   */
  private final double[] costs;
  private final double[] gains;
  private final double[] leasts;

  private StallCurve(double[] costs, double[] gains, double[] leasts) {
    this.costs = costs;
    this.gains = gains;
    this.leasts = leasts;
  }

  /**
   * Evaluates a cost for every prefix.
   *
   * @param pages of the whole model
   * @param cost by leading pages that are there, from 0 to {@code pages}; what is not less than
   *     with fewer pages counts as that
   */
  public static StallCurve of(int pages, IntToDoubleFunction cost) {
    double[] costs = falling(pages, cost);
    return new StallCurve(costs, gainsOfEnvelope(costs), new double[pages + 1]);
  }

  /**
   * The same waits, with pages that are worth more than the waiting they save.
   *
   * @param penalty what a run counts beyond what it costs, by leading pages that are there
   */
  StallCurve withPenalty(IntToDoubleFunction penalty) {
    double[] sums = falling(pages(), there -> costs[there] + penalty.applyAsDouble(there));
    return new StallCurve(costs, gainsOfEnvelope(sums), leasts);
  }

  /**
   * The same, with what a run loses at least; nothing is certain otherwise.
   *
   * @param least by leading pages that are there
   */
  StallCurve withLeast(IntToDoubleFunction least) {
    return new StallCurve(costs, gains, falling(pages(), least));
  }

  private static double[] falling(int pages, IntToDoubleFunction cost) {
    double[] costs = new double[pages + 1];
    double least = Double.POSITIVE_INFINITY;
    for (int there = 0; there <= pages; there++) {
      least = Math.min(least, cost.applyAsDouble(there));
      costs[there] = least;
    }
    return costs;
  }

  /** The lower convex envelope by Andrew's monotone chain, as what it falls by at each page. */
  private static double[] gainsOfEnvelope(double[] costs) {
    int[] corners = new int[costs.length];
    int count = 0;
    for (int i = 0; i < costs.length; i++) {
      while (count >= 2 && !isBelow(costs, corners[count - 2], corners[count - 1], i)) {
        count--;
      }
      corners[count++] = i;
    }
    double[] gains = new double[costs.length - 1];
    for (int c = 1; c < count; c++) {
      int from = corners[c - 1];
      int to = corners[c];
      Arrays.fill(gains, from, to, (costs[from] - costs[to]) / (to - from));
    }
    return gains;
  }

  private static boolean isBelow(double[] costs, int left, int middle, int right) {
    double chord =
        costs[left] + (costs[right] - costs[left]) * (middle - left) / (double) (right - left);
    return costs[middle] < chord;
  }

  /** Pages of the whole model. */
  public int pages() {
    return gains.length;
  }

  /** What a run costs with so many leading pages there. */
  public double nanos(int pagesThere) {
    return costs[pagesThere];
  }

  /**
   * What a run loses for certain with so many leading pages there; its link is as fast as known.
   */
  public double leastNanos(int pagesThere) {
    return leasts[pagesThere];
  }

  /**
   * What a page saves each run beyond those before it, penalties included, on the envelope; never
   * more than theirs.
   */
  public double gainNanos(int page) {
    return gains[page];
  }
}
