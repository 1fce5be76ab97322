package io.pipelane.switcher.memory;

import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.SequencedSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The leases of offline runs, which end before their time where online work waits for what they
 * hold. Guarded by the memory daemon's lock.
 */
final class OfflineLeases {
  /*
   * A run that is told to make way ends at its next gate and begins anew later, or is as good as
   * done and comes to its end: either way its lease is closed soon, so nobody is told in its place.
   * The latest go first, as they lose least. A model that an online run has, too, stays whatever
   * offline runs do.
   */
  private final SequencedSet<Lease> open = new LinkedHashSet<>();

  void add(Lease lease) {
    open.addLast(lease);
  }

  void remove(Lease lease) {
    open.remove(lease);
  }

  /** Has as many runs make way as hold so many bytes, or all there are. */
  void makeWay(long bytes, long pageBytes) {
    long freed = 0;
    for (Map.Entry<Residency, List<Lease>> holders : holders(_ -> true).entrySet()) {
      if (freed >= bytes) {
        return;
      }
      holders.getValue().forEach(lease -> lease.makeWay(false));
      freed += holders.getKey().pages.size() * pageBytes;
    }
  }

  /** Has the runs of a variant make way that has one of a structure's ranges. */
  void makeWayIn(Structure structure) {
    holders(residency -> residency.structure == structure && residency.isMounted())
        .values()
        .stream()
        .findFirst()
        .ifPresent(leases -> leases.forEach(lease -> lease.makeWay(false)));
  }

  /**
   * Has all runs make way, even those that are as good as done, and what they alone use leave the
   * device with them.
   */
  void makeWay() {
    for (Lease lease : open) {
      lease.residency().leaves |= lease.residency().holding.isOffline();
      lease.makeWay(true);
    }
  }

  /** By models that nobody else runs, the latest first. */
  private Map<Residency, List<Lease>> holders(Predicate<Residency> some) {
    Map<Residency, List<Lease>> holders =
        open.reversed().stream()
            .filter(lease -> some.test(lease.residency()))
            .collect(
                Collectors.groupingBy(Lease::residency, LinkedHashMap::new, Collectors.toList()));
    holders.entrySet().removeIf(entry -> entry.getValue().size() < entry.getKey().leases);
    return holders;
  }
}
