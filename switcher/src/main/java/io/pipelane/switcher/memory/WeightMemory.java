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
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;

/**
 * The device memory for weights: its pages and packed forms, who holds them, and who gives way.
 *
 * <p>Guarded by the memory daemon's lock.
 */
final class WeightMemory {
  final Map<ModelVersion, Residency> residencies = new TreeMap<>();
  final Counters counters = new Counters();
  private final PagePool pages;
  private final long capacityBytes;
  private final LongSupplier nanoClock;
  private long packedBytes;

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
    return capacityBytes - lentBytes() - packedBytes;
  }

  private long lentBytes() {
    return (long) (pages.total() - pages.free()) * pages.pageBytes();
  }

  Ledger ledger() {
    List<Ledger.Entry> entries = residencies.values().stream().map(this::entry).toList();
    return new Ledger(capacityBytes, pages.pageBytes(), lentBytes(), packedBytes, entries);
  }

  private Ledger.Entry entry(Residency residency) {
    settle(residency);
    PackedForm packed = residency.packed;
    return new Ledger.Entry(
        residency.model.version(),
        residency.model.plan().weightBytes(),
        residentBytes(residency),
        residency.isArriving(),
        packed == null ? 0 : packed.bytes,
        residency.leases,
        residency.groups);
  }

  /** Charges what a packed form may take. */
  void grant(Residency residency, long bytes) {
    residency.packed = new PackedForm(bytes);
    packedBytes += bytes;
  }

  /** Charges a built form with what it really takes. */
  void recharge(PackedForm form, long bytes) {
    packedBytes += bytes - form.bytes;
    form.bytes = bytes;
  }

  /** Takes back what was charged for a form. */
  void discharge(Residency residency, PackedForm form) {
    packedBytes -= form.bytes;
    residency.packed = null;
  }

  /** Ends a model's packed form; false when it has none, or one that is built or used. */
  boolean dropIfIdle(Residency residency) {
    PackedForm form = residency.packed;
    if (form == null || form.drop == null || form.leases > 0) {
      return false;
    }
    form.drop.run();
    discharge(residency, form);
    counters.formsDropped++;
    return true;
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
   * Frees memory until {@code bytes} are free: packed forms first, then the cheapest pages, the
   * last of a model first, so that what stays is its resident prefix.
   *
   * @return false when those that hold the rest cannot give way now
   */
  boolean makeRoom(long bytes, Residency inFavourOf) {
    residencies.values().forEach(this::settle); // may free what failed to arrive
    while (freeBytes() < bytes) {
      Optional<Residency> form = cheapest(inFavourOf, Residency::hasIdleForm, this::recentUses);
      if (form.isPresent()) {
        dropIfIdle(form.get());
        continue;
      }
      Optional<Residency> victim =
          cheapest(inFavourOf, Residency::isEvictable, this::costOfLastPage);
      if (victim.isEmpty()) {
        return false;
      }
      takeBack(victim.get(), 1);
    }
    return true;
  }

  private Optional<Residency> cheapest(
      Residency except, Predicate<Residency> eligible, ToDoubleFunction<Residency> cost) {
    return residencies.values().stream()
        .filter(residency -> residency != except && eligible.test(residency))
        .min(Comparator.comparingDouble(cost));
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
