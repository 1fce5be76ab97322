package io.pipelane.switcher.memory;

import io.pipelane.lanes.PagePool;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.memory.Residency.Arrival;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/**
 * The device memory for weights: its pages, who holds them, and who gives way.
 *
 * <p>Guarded by the memory daemon's lock.
 */
final class WeightMemory {
  final Map<ModelVersion, Residency> residencies = new TreeMap<>();
  final Counters counters = new Counters();
  private final PagePool pages;
  private final long capacityBytes;
  private final LongSupplier nanoClock;

  WeightMemory(PagePool pages, long capacityBytes, LongSupplier nanoClock) {
    this.pages = pages;
    this.capacityBytes = capacityBytes;
    this.nanoClock = nanoClock;
  }

  /** Bytes of a model's pages. */
  long residentBytes(Residency residency) {
    return residency.pages.size() * pages.pageBytes();
  }

  long missingBytes(Residency residency) {
    return residency.missingSlots() * pages.pageBytes();
  }

  /** What nobody holds. */
  long freeBytes() {
    return capacityBytes - lentBytes();
  }

  private long lentBytes() {
    return (long) (pages.total() - pages.free()) * pages.pageBytes();
  }

  Ledger ledger() {
    List<Ledger.Entry> entries = residencies.values().stream().map(this::entry).toList();
    return new Ledger(capacityBytes, pages.pageBytes(), lentBytes(), entries);
  }

  private Ledger.Entry entry(Residency residency) {
    settle(residency);
    return new Ledger.Entry(
        residency.model.version(),
        residency.model.plan().weightBytes(),
        residency.model.plan().inPlaceBytes(),
        residentBytes(residency),
        residency.isArriving(),
        residency.leases,
        residency.groups);
  }

  /** Gives a mounted model pages as far as a byte; there is room for them. */
  void mapUpTo(Residency residency, long end) {
    while (residentBytes(residency) < end) {
      Page page = pages.take().orElseThrow(() -> new IllegalStateException("pages ran out"));
      try {
        residency.range().addresses.map(residency.pages.size(), page);
      } catch (RuntimeException e) {
        pages.giveBack(page);
        throw e;
      }
      residency.pages.add(page);
    }
  }

  /** Takes the last pages of a model. */
  void takeBack(Residency residency, int count) {
    for (int i = 0; i < count; i++) {
      if (residency.isMounted()) {
        residency.range().addresses.unmap(residency.pages.size() - 1);
      }
      pages.giveBack(residency.pages.removeLast());
      counters.pagesEvicted++;
    }
  }

  /** Forgets arrivals that are done; rolls a failed transfer back once nobody runs on it. */
  void settle(Residency residency) {
    if (residency.arrivals.isEmpty() || residency.isArriving()) {
      return;
    }
    if (residency.hasFailed()) {
      if (residency.leases > 0) {
        return;
      }
      Arrival failed =
          residency.arrivals.stream().filter(Arrival::hasFailed).findFirst().orElseThrow();
      int good = (int) (failed.begin() / pages.pageBytes());
      takeBack(residency, residency.pages.size() - good);
      counters.failedLoads++;
    }
    residency.arrivals.clear();
  }

  /**
   * Frees memory until {@code bytes} are free: the cheapest pages first, the last of a model before
   * the others, so that what stays is its resident prefix.
   *
   * @return false when those that hold the rest cannot give way now
   */
  boolean makeRoom(long bytes, Residency inFavourOf) {
    residencies.values().forEach(this::settle); // may free what failed to arrive
    while (freeBytes() < bytes) {
      Optional<Residency> victim = cheapestToTakeFrom(inFavourOf);
      if (victim.isEmpty()) {
        return false;
      }
      takeBack(victim.get(), 1);
    }
    return true;
  }

  private Optional<Residency> cheapestToTakeFrom(Residency except) {
    return residencies.values().stream()
        .filter(residency -> residency != except && residency.isEvictable())
        .min(Comparator.comparingDouble(this::costOfLastPage));
  }

  private double recentUses(Residency residency) {
    return residency.usage.at(nanoClock.getAsLong());
  }

  /** What losing a model's last page costs: bytes to bring back × likelihood of the next use. */
  private double costOfLastPage(Residency residency) {
    long weightBytes = residency.model.plan().weightBytes();
    long begin = residentBytes(residency) - pages.pageBytes();
    return (Math.min(weightBytes, residentBytes(residency)) - begin) * recentUses(residency);
  }
}
