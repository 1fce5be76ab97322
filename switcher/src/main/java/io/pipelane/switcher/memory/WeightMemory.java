package io.pipelane.switcher.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.PagePool;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.memory.pages.Arrival;
import io.pipelane.switcher.memory.pages.PageTenants;
import io.pipelane.switcher.memory.pages.SharedPages;
import io.pipelane.switcher.memory.pages.SharedPages.Offer;
import io.pipelane.switcher.memory.pages.StagedPages;
import io.pipelane.switcher.residency.Holding;
import io.pipelane.switcher.residency.Holdings;
import io.pipelane.switcher.residency.Unit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The device memory for weights: its pages, who holds them, and who gives way.
 *
 * <p>Guarded by the memory daemon's lock.
 */
final class WeightMemory {
  final Map<ModelVersion, Residency> residencies = new TreeMap<>();
  final Counters counters = new Counters();
  final PageTenants tenants;
  final TableCopies tables;
  final Capacity capacity;

  /** Copies that runs wait for. */
  final AtomicInteger copiesUnderWay = new AtomicInteger();

  private final Map<Holding, Residency> owners = new HashMap<>();
  private final Deque<Page> withLanes = new ArrayDeque<>();
  private final PagePool pages;
  private final SharedPages shared;
  private final AlikeModels alike = new AlikeModels();
  private final Consumer<Residency> whenJoined;
  private final Holdings holdings;
  private final StagedPages staged;
  private final LongSupplier nanoClock;

  /**
   * Memory that nobody has a part of.
   *
   * @param staged where pages may lie on their way
   * @param zeroing whether a page is zeroed that is lent to another tenant's model
   * @param whenJoined told a model when pages that it shares have come, on any thread
   */
  WeightMemory(
      PagePool pages,
      long capacityBytes,
      Holdings holdings,
      StagedPages staged,
      boolean zeroing,
      Consumer<Residency> whenJoined,
      LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
    this.shared = new SharedPages(pages);
    this.whenJoined = whenJoined;
    this.tenants = new PageTenants(zeroing, pages.total());
    this.tables = new TableCopies(shared, tenants, nanoClock);
    this.pages = pages;
    this.capacity = new Capacity(capacityBytes, pages.pageBytes());
    this.holdings = holdings;
    this.staged = staged;
  }

  /** Takes a model in, which has no pages. */
  void add(Residency residency) {
    residencies.put(residency.model.version(), residency);
    owners.put(residency.holding, residency);
    tables.add(residency);
    Set<Residency> others = alike.add(residency);
    if (!others.isEmpty()) {
      holdings.shares(residency.holding);
      others.forEach(other -> holdings.shares(other.holding));
    }
  }

  /** Forgets a model that has no pages any more. */
  void remove(Residency residency) {
    residencies.remove(residency.model.version());
    owners.remove(residency.holding);
    tables.remove(residency);
    alike.remove(residency);
    holdings.remove(residency.holding);
  }

  /**
   * A model that is in service.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not, or about to go
   */
  Residency inService(ModelVersion version) {
    Residency residency = residencies.get(version);
    if (residency == null || residency.retired) {
      throw Residency.notInService(version);
    }
    return residency;
  }

  /** Whose pages a policy speaks of. */
  Residency owner(Holding holding) {
    return Objects.requireNonNull(owners.get(holding), "nobody's pages");
  }

  /** Bytes of a model's pages, those that it shares among them. */
  long residentBytes(Residency residency) {
    return residency.pages.size() * pages.pageBytes();
  }

  long pageBytes() {
    return pages.pageBytes();
  }

  /** What models need beside what they have, and is claimed for them, in whole pages. */
  long missingBytes(Collection<Residency> models, Claim claim) {
    long missing = -claim.pages();
    for (Residency residency : models) {
      missing += residency.missingSlots();
    }
    return missing * pages.pageBytes();
  }

  /** The same of a model alone, given what others have now. */
  long missingBytes(Residency residency) {
    try (Claim claim = claim(List.of(residency))) {
      return missingBytes(List.of(residency), claim);
    }
  }

  /** What nobody holds. */
  long freeBytes() {
    return capacity.bytes() - lentBytes();
  }

  /** The same with what copies of tables hold that would go at once. */
  long roomBytes() {
    return freeBytes() + tables.pagesThatGiveWay() * pages.pageBytes();
  }

  private long lentBytes() {
    return (long) (pages.total() - pages.free()) * pages.pageBytes();
  }

  Ledger ledger() {
    settleAll();
    List<Ledger.Entry> entries =
        residencies.values().stream().map(residency -> residency.entry(pages.pageBytes())).toList();
    long lanes = withLanes.size() * pages.pageBytes();
    long held = residencies.values().stream().mapToLong(each -> each.pages.size()).sum();
    long distinct =
        residencies.values().stream().flatMap(each -> each.pages.stream()).distinct().count();
    return new Ledger(
        capacity.bytes(),
        pages.pageBytes(),
        lentBytes(),
        lanes,
        (held - distinct) * pages.pageBytes(),
        entries);
  }

  /** Gives a mounted model pages as far as a byte; there is room for them. */
  void mapUpTo(Residency residency, long end) {
    while (residentBytes(residency) < end) {
      Page page = shared.take();
      try {
        tenants.map(
            residency.range().addresses, residency.pages.size(), page, residency.model.tenant());
      } catch (RuntimeException e) {
        shared.letGo(page);
        throw e;
      }
      add(residency, page);
    }
  }

  /** Lends a page that a model is to have. */
  Page take() {
    return shared.take();
  }

  /** Takes a page back that lies nowhere, and that no model has. */
  void giveBack(Page page) {
    shared.letGo(page);
  }

  /** Claims what others have of what models miss. */
  Claim claim(Collection<Residency> models) {
    return Claim.of(models, shared);
  }

  /** Gives a model the next pages that it misses, as far as others have them. */
  void join(Residency residency) {
    try (Claim claim = claim(List.of(residency))) {
      join(residency, claim);
    }
  }

  /** The same with pages that are claimed for it; nothing is changed when that fails. */
  void join(Residency residency, Claim claim) {
    int first = residency.pages.size();
    List<Offer> joined = claim.from(residency, first);
    if (joined.isEmpty()) {
      return;
    }
    List<Arrival> arriving = new ArrayList<>();
    if (residency.isMounted()) {
      arriving.add(mapped(residency, first, joined));
    }
    for (Offer offer : joined) {
      int slot = residency.pages.size();
      for (Arrival filling : offer.filling()) {
        arriveWith(filling.event(), beginOf(slot), endOf(residency, slot), arriving);
      }
      add(residency, offer.page());
      claim.given(residency, slot);
    }
    counters.pagesJoined += joined.size();
    arriving.removeIf(Arrival::isThere);
    residency.arrivals.addAll(arriving);
    if (!arriving.isEmpty()) {
      Arrival.whenAllDone(arriving, () -> whenJoined.accept(residency));
    }
  }

  /** Bytes that come with an event; those that follow on others of the same are told with them. */
  private static void arriveWith(DeviceEvent event, long begin, long end, List<Arrival> arriving) {
    @Nullable Arrival latest = arriving.isEmpty() ? null : arriving.getLast();
    if (latest != null && latest.event().equals(event) && latest.end() == begin) {
      arriving.set(arriving.size() - 1, new Arrival(latest.begin(), end, event));
    } else {
      arriving.add(new Arrival(begin, end, event));
    }
  }

  private Arrival mapped(Residency residency, int first, List<Offer> joined) {
    AddressRange addresses = residency.range().addresses;
    int slot = first;
    try {
      for (Offer offer : joined) {
        addresses.map(slot, offer.page());
        slot++;
      }
      return new Arrival(beginOf(first), endOf(residency, slot - 1), addresses.settled(slot));
    } catch (RuntimeException e) {
      while (slot-- > first) {
        addresses.unmap(slot);
      }
      throw e;
    }
  }

  /** Lets other models hold a page of a model to which everything has been sent. */
  void offer(Residency residency, int slot) {
    if (slot < residency.contents.size()) {
      long begin = beginOf(slot);
      long end = endOf(residency, slot);
      List<Arrival> filling =
          residency.arrivals.stream()
              .filter(arrival -> arrival.begin() < end && arrival.end() > begin)
              .toList();
      shared.offer(residency.pages.get(slot), residency.contents.get(slot), filling);
    }
  }

  private long beginOf(int slot) {
    return slot * pages.pageBytes();
  }

  /** How much of a model's weights is in one of its pages. */
  long bytesIn(Residency residency, int slot) {
    return endOf(residency, slot) - beginOf(slot);
  }

  /** Where a page of a model's weights ends, the last one with them. */
  private long endOf(Residency residency, int slot) {
    return Math.min(beginOf(slot + 1), residency.model.plan().weightBytes());
  }

  /** Gives a model a page that lies where it should, and is held for it. */
  void add(Residency residency, Page page) {
    residency.pages.add(page);
    holdings.setPages(residency.holding, residency.pages.size());
  }

  /** Takes the last pages of a model; if it is a part of a unit, the other parts follow. */
  void takeBack(Residency residency, int count) {
    takePages(residency, count);
    @Nullable Unit unit = residency.holding.unit();
    if (unit != null && count > 0) {
      unit.broken();
    }
  }

  /** Takes all of what offline work alone uses and can go; how many bytes that were. */
  long takeBackOffline() {
    long before = freeBytes();
    settleAll();
    residencies.values().stream()
        .filter(residency -> residency.holding.isOffline() && residency.isEvictable())
        .forEach(residency -> takeBack(residency, residency.pages.size()));
    return freeBytes() - before;
  }

  /**
   * Takes all of a model that is to go, or whose unit has gone, unless something runs on it, reads
   * it or writes it; asked again when that has ended.
   */
  void takeIfLeftBehind(Residency residency) {
    if (residency.leases == 0 && !residency.isBeingCopied()) {
      if (residency.isLeftBehind()) {
        takePages(residency, residency.pages.size());
      }
      residency.leaves = false;
    }
  }

  private void takePages(Residency residency, int count) {
    staged.clear();
    if (count > 0) {
      tables.leave(residency);
    }
    boolean arrived = !residency.fetchFailed && !residency.hasFailed();
    try {
      for (int i = 0; i < count; i++) {
        if (residency.isMounted()) {
          residency.range().addresses.unmapToGiveBack(residency.pages.size() - 1);
        }
        Page page = residency.pages.removeLast();
        shared.letGo(page);
        tenants.left(page, residency.model.tenant(), arrived);
        counters.pagesEvicted++;
        counters.offlinePagesEvicted += residency.holding.isOffline() ? 1 : 0;
      }
    } finally { // A lost device may fail.
      residency.stay.keepOnly(residency.pages.size());
      holdings.setPages(residency.holding, residency.pages.size());
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
      residency.fetchFailed(nanoClock.getAsLong());
      counters.failedLoads++;
    } else {
      residency.arrived();
    }
    residency.arrivals.clear();
  }

  /** Forgets all arrivals that are done; may free what failed to arrive. */
  void settleAll() {
    residencies.values().forEach(this::settle);
  }

  /** What is free, or would be if all gave way that can at once. */
  long bytesThatGiveWay() {
    return roomBytes() + bytesHeldBy(Residency::isEvictable);
  }

  /**
   * Whether there is room once some models are run no more, and what goes on with those that nobody
   * runs, as they arrive or are read, is over.
   *
   * @param spared give nothing
   */
  boolean wouldHaveRoom(long bytes, Set<Residency> spared, Set<Residency> cleared) {
    long copies =
        tables.pagesOf(residency -> residency.canLoseTable() || cleared.contains(residency));
    return bytes
        <= freeBytes()
            + copies * pages.pageBytes()
            + bytesHeldBy(
                residency ->
                    !spared.contains(residency)
                        && (residency.leases == 0 || cleared.contains(residency)));
  }

  /** Bytes of the pages that nobody holds but some. */
  long bytesHeldBy(Predicate<Residency> some) {
    int[] held = new int[pages.total()];
    long whole = 0;
    for (Residency residency : residencies.values()) {
      if (some.test(residency)) {
        for (Page page : residency.pages) {
          whole += ++held[page.index()] == shared.holders(page) ? 1 : 0;
        }
      }
    }
    return whole * pages.pageBytes();
  }

  /** As {@link #makeRoom}, for lanes. */
  boolean makeRoomForLanes(long bytes) {
    long before = counters.pagesEvicted;
    boolean made = makeRoom(bytes, Set.of());
    counters.failsafePagings += counters.pagesEvicted > before ? 1 : 0;
    return made;
  }

  /**
   * Lends pages to lanes.
   *
   * @param bytes at most what gives way at once; rounded up to whole pages, where there are as many
   */
  List<Page> lend(long bytes) {
    boolean _ = makeRoomForLanes(bytes);
    long count = Math.min(Math.ceilDiv(bytes, pages.pageBytes()), freeBytes() / pages.pageBytes());
    List<Page> lent = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      lent.add(pages.take().orElseThrow(() -> new IllegalStateException("pages ran out")));
    }
    withLanes.addAll(lent);
    return lent;
  }

  /** Whether something computes with other models' weights. */
  boolean isUsedBeside(Residency residency) {
    return residencies.values().stream().anyMatch(other -> other != residency && other.leases > 0);
  }

  /** Takes pages back that lanes had, whose memory is gone. */
  void takeBackFromLanes(int count) {
    for (int i = 0; i < count; i++) {
      pages.giveBack(withLanes.removeLast());
    }
  }

  /**
   * Frees memory until {@code bytes} are free: copies of tables go first, then the policy says who
   * gives way.
   *
   * @param spared who does not
   * @return false when those that hold the rest cannot give way now
   */
  boolean makeRoom(long bytes, Set<Residency> spared) {
    return makeRoom(bytes, Residency.evictableBut(spared));
  }

  /**
   * The same.
   *
   * @param may who gives way; nobody who is not evictable
   */
  boolean makeRoom(long bytes, Predicate<Residency> may) {
    tables.giveWay(() -> freeBytes() < bytes);
    return holdings.makeRoom(
        Math.ceilDiv(bytes, pages.pageBytes()),
        () -> freeBytes() / pages.pageBytes(),
        holding -> may.test(owner(holding)),
        (holding, count) -> takeBack(owner(holding), count));
  }
}
