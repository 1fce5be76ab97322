package io.pipelane.switcher.memory;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.SequencedSet;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The open leases of runs, which end before their time where a run that goes before theirs waits
 * for what they hold. Guarded by the memory daemon's lock.
 */
final class OpenLeases {
  /*
   * The waiting run says who goes before whom (RunControl.goesBefore). A run that is told to make
   * way ends at its next gate and begins anew later, or is as good as done and comes to its end.
   * Either way its lease is closed soon, so nobody is told in its place.
   *
   * Offline runs go first, and of each kind the latest, as they lose least. Online runs are told
   * where that makes room, and only those without whom there is none. A run that waits for a lane
   * or working memory comes to no gate before it has that: it is told where others are not enough.
   * A model stays, whatever others do, if somebody runs it who does not make way.
   */
  private final SequencedSet<Lease> open = new LinkedHashSet<>();

  void add(Lease lease) {
    open.addLast(lease);
  }

  void remove(Lease lease) {
    open.remove(lease);
  }

  /**
   * Has as many runs make way as hold what another one waits for.
   *
   * @param enough whether there is room for it once some models are run no more
   */
  void makeWay(RunControl first, Predicate<Set<Residency>> enough) {
    Predicate<Lease> makesWay = lease -> lease.makesWay() || first.goesBefore(lease);
    if (!makeWay(makesWay.and(Lease::comesToGate), enough)) {
      boolean _ = makeWay(makesWay, enough);
    }
  }

  /** Has some of some runs make way, if need be; whether there is room once they have. */
  private boolean makeWay(Predicate<Lease> some, Predicate<Set<Residency>> enough) {
    Set<Residency> cleared = new LinkedHashSet<>(holders(some.and(Lease::makesWay)).keySet());
    if (enough.test(cleared)) {
      return true; // They have only to come to their gates, and pages to arrive.
    }
    for (Map.Entry<Residency, List<Lease>> holders :
        holders(some.and(Lease::isOffline)).entrySet()) {
      if (cleared.add(holders.getKey())) {
        tell(holders.getValue());
        if (enough.test(cleared)) {
          return true;
        }
      }
    }
    Map<Residency, List<Lease>> others = holders(some);
    others.keySet().removeAll(cleared);
    List<Residency> needed = needed(others.keySet(), cleared, enough);
    needed.stream().map(others::get).forEach(OpenLeases::tell);
    return !needed.isEmpty();
  }

  /** The first of some that make enough room beside others, without those that are not needed. */
  private static List<Residency> needed(
      Set<Residency> some, Set<Residency> beside, Predicate<Set<Residency>> enough) {
    Set<Residency> cleared = new LinkedHashSet<>(beside);
    List<Residency> needed = new ArrayList<>();
    for (Residency residency : some) {
      if (needed.isEmpty() || !enough.test(cleared)) {
        cleared.add(residency);
        needed.add(residency);
      }
    }
    if (!enough.test(cleared)) {
      return List.of();
    }
    for (Residency residency : List.copyOf(needed)) {
      cleared.remove(residency);
      if (enough.test(cleared)) {
        needed.remove(residency);
      } else {
        cleared.add(residency);
      }
    }
    return needed;
  }

  /** Has the runs of a variant make way that has one of a structure's ranges. */
  void makeWayIn(Structure structure, RunControl first) {
    holders(
            lease ->
                lease.residency().structure == structure
                    && lease.residency().isMounted()
                    && (lease.makesWay() || first.goesBefore(lease)))
        .values()
        .stream()
        .min(
            Comparator.<List<Lease>, Boolean>comparing(
                    it -> !it.stream().allMatch(Lease::comesToGate))
                .thenComparing(it -> !it.stream().allMatch(Lease::makesWay))
                .thenComparing(it -> !it.stream().allMatch(Lease::isOffline)))
        .ifPresent(OpenLeases::tell);
  }

  private static void tell(List<Lease> leases) {
    leases.forEach(lease -> lease.makeWay(false));
  }

  /** Has all offline runs make way, even those that are as good as done. */
  void makeOfflineWay() {
    for (Lease lease : open) {
      if (lease.isOffline()) {
        lease.makeWay(true);
      }
    }
  }

  /** By models that nobody else runs, the latest first. */
  private Map<Residency, List<Lease>> holders(Predicate<Lease> some) {
    Map<Residency, List<Lease>> holders =
        open.reversed().stream()
            .filter(some)
            .collect(
                Collectors.groupingBy(Lease::residency, LinkedHashMap::new, Collectors.toList()));
    holders.entrySet().removeIf(entry -> entry.getValue().size() < entry.getKey().leases);
    return holders;
  }
}
