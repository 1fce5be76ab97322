package io.pipelane.switcher.memory;

import io.pipelane.lanes.AddressRange;
import io.pipelane.switcher.memory.pages.Arrival;
import io.pipelane.switcher.residency.RemapSteps;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Fixed addresses that the weights of a structure's variants lie at, one variant at a time; what a
 * session is built for. Which variant is mounted is guarded by the daemon's lock.
 */
public final class StructureRange {
  final AddressRange addresses;
  private final Structure structure;
  private @Nullable Residency mounted;

  StructureRange(Structure structure, AddressRange addresses) {
    this.structure = structure;
    this.addresses = addresses;
  }

  public Structure structure() {
    return structure;
  }

  public long address() {
    return addresses.address();
  }

  @Nullable Residency mounted() {
    return mounted;
  }

  /** Whether nothing runs on the variant that is mounted, reads it or writes it. */
  boolean canYield() {
    return mounted == null || (mounted.leases == 0 && !mounted.isArriving());
  }

  /** How much the variant that is mounted was used lately; less than nothing where none is. */
  double recentUses(long nowNanos) {
    return mounted == null ? -1 : mounted.holding.usage().at(nowNanos);
  }

  /**
   * Puts the pages that a variant has under the empty range, and shows what it reads in place;
   * nothing is changed when that fails. On a device that maps later pages arrive like copies, in
   * {@link RemapSteps}: the first segments run while the last pages are being mapped.
   *
   * @param whenSettled called once they lie there
   */
  void mount(Residency residency, Runnable whenSettled) {
    int slot = 0;
    List<Arrival> arriving;
    try {
      for (; slot < residency.pages.size(); slot++) {
        addresses.map(slot, residency.pages.get(slot));
      }
      arriving = arriving(residency);
      residency.inPlace.showIn(addresses);
    } catch (RuntimeException e) {
      while (slot-- > 0) {
        addresses.unmap(slot);
      }
      throw e;
    }
    mounted = residency;
    residency.mountedIn = this;
    residency.arrivals.addAll(0, arriving); // Pages fetched ahead, or shared, may be on their way.
    residency.arrivals.sort(Comparator.comparingLong(Arrival::begin));
    if (!arriving.isEmpty()) {
      arriving.getLast().event().whenDone(whenSettled);
    }
  }

  private List<Arrival> arriving(Residency residency) {
    long pageBytes = addresses.byteSize() / addresses.slots();
    long weightBytes = residency.model.plan().weightBytes();
    List<Arrival> arriving = new ArrayList<>();
    long begin = 0;
    for (int slots : RemapSteps.ends(residency.pages.size())) {
      long end = Math.min(slots * pageBytes, weightBytes);
      Arrival arrival = new Arrival(begin, end, addresses.settled(slots));
      if (!arrival.isThere()) {
        arriving.add(arrival);
      }
      begin = end;
    }
    return arriving;
  }

  /** Takes the variant's pages from under the range; it keeps them. */
  void dismount() {
    Residency former = mounted;
    if (former != null) {
      for (int slot = 0; slot < former.pages.size(); slot++) {
        addresses.unmap(slot);
      }
      former.inPlace.hideFrom(addresses);
      former.mountedIn = null;
      mounted = null;
    }
  }
}
