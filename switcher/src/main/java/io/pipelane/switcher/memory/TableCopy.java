package io.pipelane.switcher.memory;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.MemorySource;
import io.pipelane.switcher.memory.pages.Arrival;
import io.pipelane.switcher.residency.Usage;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collection;
import java.util.Iterator;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A copy, in pages of the device, of the table that a model reads in place: what there is of it.
 * Runs read it once it is whole. Guarded by the memory daemon's lock.
 */
final class TableCopy implements AutoCloseable {
  /*
   * Pages come in order, one at a time, and go together, but for one that is on its way: that
   * follows. The table stays in host memory all the while. A window shows either, so a run reads
   * what it has found there to its end. What is shown goes only while the model has no lease.
   *
   * The addresses stay when the pages have gone: what was captured for them is good again once the
   * table is back. So a model has two captures of a shape at most.
   */
  private final MemorySource table;
  private final Map<Integer, Page> pages = new TreeMap<>(); // By their slots.
  private @Nullable AddressRange addresses;
  private @Nullable DeviceEvent underWay;
  private boolean whole;
  private boolean leaves;

  /** Since it last left, or failed to come; null before the first use. */
  private @Nullable Usage uses;

  /**
   * Nothing is copied.
   *
   * @param table in host memory, as long as this is open; of no bytes where nothing is read in
   *     place
   */
  TableCopy(MemorySegment table) {
    this.table = new MemorySource(table);
  }

  MemorySource table() {
    return table;
  }

  /** Pages of it, those among them that are on their way. */
  Collection<Page> pages() {
    return pages.values();
  }

  /** Whether runs read it, or will where the model is mounted. */
  boolean isWhole() {
    return whole;
  }

  boolean isArriving() {
    return underWay != null;
  }

  /** Whether it goes once what is on its way has come. */
  boolean leaves() {
    return leaves;
  }

  /** How many of its pages nothing is on its way to. */
  int landed() {
    return pages.size() - (underWay == null ? 0 : 1);
  }

  /** A run of the model begins. */
  void used(Duration halfLife, long nowNanos) {
    Usage counted = uses;
    if (counted == null) {
      counted = new Usage(halfLife, nowNanos);
      uses = counted;
    }
    counted.used(nowNanos);
  }

  /** Runs lately, since it last left. */
  double usesAt(long nowNanos) {
    return uses == null ? 0 : uses.at(nowNanos);
  }

  /** What its pages lie at. */
  AddressRange addresses(LongFunction<AddressRange> reserve) {
    AddressRange reserved = addresses;
    if (reserved == null) {
      reserved = reserve.apply(table.byteSize());
      addresses = reserved;
    }
    return reserved;
  }

  /** The next page is on its way to its place. */
  void sent(Page page, DeviceEvent arrival) {
    pages.put(pages.size(), page);
    underWay = arrival;
  }

  /**
   * What was on its way is not any more.
   *
   * @return whether it has come
   */
  boolean arrived() {
    DeviceEvent arrival = underWay;
    underWay = null;
    return arrival != null && !new Arrival(0, 0, arrival).hasFailed();
  }

  /** All has come: runs of the model that begin later read it. */
  void complete(@Nullable StructureRange mounted) {
    whole = true;
    if (mounted != null) {
      showIn(mounted.addresses);
    }
  }

  /** Has runs read it in a range that shows the table, if it is whole. */
  void showIn(AddressRange range) {
    if (whole && addresses != null) {
      range.showPages(addresses);
    }
  }

  /**
   * Has it leave; nobody reads it. What is on its way stays until it has {@link #arrived}.
   *
   * @param takeBack takes a page that is mapped nowhere any more
   */
  void leave(@Nullable StructureRange mounted, Consumer<Page> takeBack) {
    if (whole && mounted != null) {
      mounted.addresses.hidePages();
    }
    whole = false;
    uses = null;
    int landed = landed();
    for (Iterator<Map.Entry<Integer, Page>> each = pages.entrySet().iterator();
        landed > 0;
        landed--) {
      Map.Entry<Integer, Page> next = each.next(); // In order, so what is on its way is the last.
      Objects.requireNonNull(addresses).unmap(next.getKey());
      each.remove();
      takeBack.accept(next.getValue());
    }
    leaves = !pages.isEmpty();
  }

  /** Gives its addresses back; there is nothing of it. */
  @Override
  public void close() {
    if (addresses != null) {
      addresses.close();
    }
  }

  /** Pages that the whole of it takes. */
  int slots(long pageBytes) {
    return Math.toIntExact(Math.ceilDiv(table.byteSize(), pageBytes));
  }
}
