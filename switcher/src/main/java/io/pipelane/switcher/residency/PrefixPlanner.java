package io.pipelane.switcher.residency;

import java.util.List;
import java.util.PriorityQueue;

/**
 * The choice of how many leading pages each model keeps so that the expected stall, Σ rate × stall,
 * is least within a number of pages in all.
 *
 * <p>Pages are given one by one, each to the model where it gains most (Fox, Discrete optimization
 * via marginal analysis, Management Science 13, 1966). This is exact for the curves' lower convex
 * envelopes. For the curves themselves the sum may exceed the least possible, but by no more than
 * the largest of {@code rate × (curve - envelope)}, as one model at most ends inside an edge of its
 * envelope.
 */
public final class PrefixPlanner {
  private PrefixPlanner() {}

  /** A model's requests per second, and what each of them waits. */
  public record Demand(double perSecond, StallCurve curve) {}

  private record Page(int model, int page, double gain) implements Comparable<Page> {
    @Override
    public int compareTo(Page other) {
      int byGain = Double.compare(other.gain, gain);
      return byGain != 0 ? byGain : Integer.compare(model, other.model);
    }
  }

  /**
   * Chooses.
   *
   * @return pages by model; models without requests get none
   */
  public static int[] prefixes(List<Demand> demands, long pages) {
    int[] prefixes = new int[demands.size()];
    PriorityQueue<Page> next = new PriorityQueue<>();
    for (int model = 0; model < prefixes.length; model++) {
      offer(next, demands, model, 0);
    }
    for (long left = pages; left > 0 && !next.isEmpty(); left--) {
      Page best = next.remove();
      prefixes[best.model]++;
      offer(next, demands, best.model, best.page + 1);
    }
    return prefixes;
  }

  private static void offer(PriorityQueue<Page> next, List<Demand> demands, int model, int page) {
    Demand demand = demands.get(model);
    if (page < demand.curve.pages() && demand.perSecond > 0) {
      next.add(new Page(model, page, demand.perSecond * demand.curve.gainNanos(page)));
    }
  }
}
