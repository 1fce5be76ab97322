package io.pipelane.lanes.execution;

import io.pipelane.lanes.EphemeralRegion;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;

/**
 * Regions of lanes that nobody is in, with memory that has been touched: free for anybody, and had
 * again by the next lane where nobody has wanted it. Guarded by the lanes' lock.
 */
final class ParkedRegions {
  private final List<EphemeralRegion> parked = new ArrayList<>();
  private long trimmed;

  void add(EphemeralRegion region) {
    parked.add(region);
  }

  boolean isEmpty() {
    return parked.isEmpty();
  }

  boolean has(EphemeralRegion region) {
    return parked.contains(region);
  }

  /** Memory of all of them. */
  long bytes() {
    long bytes = 0;
    for (EphemeralRegion region : parked) {
      bytes += region.limitBytes();
    }
    return bytes;
  }

  /** How often one lost its memory to others. */
  long trimmed() {
    return trimmed;
  }

  /** Takes one as {@link #within} says, with no more memory than asked for. */
  EphemeralRegion take(long bytes, Set<EphemeralRegion> preferred) {
    EphemeralRegion region = within(bytes, preferred);
    parked.remove(region);
    if (region.limitBytes() > bytes) {
      region.limit(bytes);
    }
    return region;
  }

  /** The smallest that is large enough, or else the largest. */
  EphemeralRegion best(long bytes, Set<EphemeralRegion> preferred) {
    return choose(preferred, (limit, other) -> isBetter(limit, other, bytes));
  }

  /** The largest that has no more than that, or else the smallest: it gives back least. */
  EphemeralRegion within(long bytes, Set<EphemeralRegion> preferred) {
    return choose(preferred, (limit, other) -> isBetter(-limit, -other, -bytes));
  }

  private interface Comparison {
    boolean isBetter(long limit, long other);
  }

  /**
   * Of the preferred, or else of all; of those that are alike the one parked last, where a session
   * finds its input bound as it was.
   */
  private EphemeralRegion choose(Set<EphemeralRegion> preferred, Comparison comparison) {
    List<EphemeralRegion> choice = parked;
    if (!preferred.isEmpty() && !Collections.disjoint(parked, preferred)) {
      choice = new ArrayList<>(parked);
      choice.retainAll(preferred);
    }
    EphemeralRegion best = choice.getLast();
    for (int i = choice.size() - 2; i >= 0; i--) {
      EphemeralRegion region = choice.get(i);
      if (comparison.isBetter(region.limitBytes(), best.limitBytes())) {
        best = region;
      }
    }
    return best;
  }

  private static boolean isBetter(long limit, long other, long bytes) {
    return other < bytes ? limit > other : limit >= bytes && limit < other;
  }

  /** Gives memory back until no more than so much is left. */
  void trimTo(long bytes) {
    for (EphemeralRegion region : parked) {
      if (bytes() <= bytes) {
        break;
      }
      trimmed += region.limitBytes() > 0 ? 1 : 0;
      region.limit(0);
    }
  }
}
