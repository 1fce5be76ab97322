package io.pipelane.switcher.memory;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.PagePool.Page;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The leases of runs that were ended, whose worker processes stay and keep the weights, and what
 * their lanes have borrowed. Nobody knows how long they do, so nobody is kept waiting for that.
 * Guarded by the memory daemon's lock.
 */
final class StuckLeases {
  private final long capacityPages;
  private final long pageBytes;
  private final Map<Lease, String> reasons = new LinkedHashMap<>();
  private volatile LongSupplier lanesKeepBytes = () -> 0;

  /**
   * No lease is stuck.
   *
   * @param capacityBytes for weights
   */
  StuckLeases(long capacityBytes, long pageBytes) {
    this.capacityPages = capacityBytes / pageBytes;
    this.pageBytes = pageBytes;
  }

  /** Has somebody say what stuck runs' lanes keep of what was lent to them, in whole pages. */
  void lanesKeep(LongSupplier bytes) {
    lanesKeepBytes = bytes;
  }

  /** A lease is, until it is removed. */
  void add(Lease lease, String reason) {
    reasons.put(lease, reason);
  }

  /** A lease has been closed; it need not have been stuck. */
  void remove(Lease lease) {
    reasons.remove(lease);
  }

  /** Whether a model's weights are kept. */
  boolean keep(Residency residency) {
    return reasons.keySet().stream().anyMatch(lease -> lease.residency() == residency);
  }

  /**
   * Refuses models for which there would be no room though all others gave way.
   *
   * @param claim of theirs
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE}
   */
  void requireRoom(Collection<Residency> together, Claim claim) {
    if (!reasons.isEmpty()) {
      long missing = together.stream().mapToLong(Residency::missingSlots).sum();
      requireRoom(together, missing - claim.pagesAmong(pagesKeptBeside(together)));
    }
  }

  /** The same for lanes, beside a model that stays. */
  void requireRoomForLanes(long bytes, Residency held) {
    requireRoom(List.of(held), Math.ceilDiv(bytes, pageBytes));
  }

  private void requireRoom(Collection<Residency> together, long missing) {
    if (reasons.isEmpty()) {
      return;
    }
    long lanes = lanesKeepBytes.getAsLong() / pageBytes;
    Set<Page> taken = pagesKeptBeside(together);
    if (lanes > 0 || !taken.isEmpty()) {
      together.forEach(residency -> taken.addAll(residency.pages));
      together.forEach(residency -> taken.addAll(residency.tablePagesRead()));
      if (missing > capacityPages - lanes - taken.size()) {
        throw refusal("device memory");
      }
    }
  }

  private Set<Page> pagesKeptBeside(Collection<Residency> together) {
    return reasons.keySet().stream()
        .map(Lease::residency)
        .filter(residency -> !together.contains(residency))
        .flatMap(
            residency ->
                Stream.concat(residency.pages.stream(), residency.tablePagesRead().stream()))
        .collect(Collectors.toCollection(HashSet::new));
  }

  /**
   * Refuses one more variant of a structure all of whose ranges are kept.
   *
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE}
   */
  void requireRange(Structure structure) {
    Stream<Residency> kept = reasons.keySet().stream().map(Lease::residency);
    long ranges =
        kept.filter(residency -> residency.structure == structure)
            .map(Residency::range)
            .distinct()
            .count();
    if (ranges == structure.ranges.size()) {
      throw refusal("the place of a model's weights");
    }
  }

  /** What to tell who needs something that is kept; some lease is stuck. */
  StatusException refusal(String what) {
    return StatusException.unavailable(
        "%s that is needed is kept: %s".formatted(what, reasons.values().iterator().next()));
  }
}
