package io.pipelane.switcher.memory;

import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.RepackedWeight;
import io.pipelane.runtime.graph.InPlaceWeight;
import io.pipelane.switcher.residency.Usage;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * A graph without its weights, as the memory daemon sees it: the ranges of addresses that its
 * variants' weights take turns in. Its identity is what sessions are shared by.
 *
 * <p>All but its hash is guarded by the daemon's lock.
 */
public final class Structure {
  /*
   * A variant is mounted in one range at most, and stays there until another one needs the range.
   * Only the first in the line mounts, so whoever waits finds its variant still mounted. While the
   * line is not empty everybody joins it, so no variant keeps the others out.
   */
  final List<StructureRange> ranges = new ArrayList<>();
  final WaitingLine line = new WaitingLine(false);

  /** Acquisitions that had to wait for a range lately. */
  final Usage contention;

  /** Registered models. */
  int variants;

  private final Key key;

  /** The identity that models have in common that can share: all that a session knows of them. */
  record Key(
      String hash,
      long weightBytes,
      List<Plan.StreamedWeight> weights,
      List<RepackedWeight> repacked,
      List<InPlaceWeight> inPlace,
      long inPlaceBytes,
      List<Plan.Segment> parts) {
    static Key of(Plan plan) {
      return new Key(
          plan.structureHash(),
          plan.weightBytes(),
          plan.weights(),
          plan.repacked(),
          plan.inPlace(),
          plan.inPlaceBytes(),
          plan.segments());
    }
  }

  Structure(Key key, Usage contention) {
    this.key = key;
    this.contention = contention;
  }

  /** Identifies the graph without what is streamed. */
  public String hash() {
    return key.hash();
  }

  Key key() {
    return key;
  }

  /** Page slots of each range. */
  int slots() {
    return ranges.getFirst().addresses.slots();
  }

  /** A range that may be given to another variant: an empty one, or that of the least used. */
  Optional<StructureRange> yielding(long nowNanos) {
    return ranges.stream()
        .filter(StructureRange::canYield)
        .min(Comparator.comparingDouble(range -> range.recentUses(nowNanos)));
  }
}
