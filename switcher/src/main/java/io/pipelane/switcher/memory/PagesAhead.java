package io.pipelane.switcher.memory;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.CopyEngine;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.switcher.memory.pages.Arrival;
import io.pipelane.switcher.memory.pages.StagedPages;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The pages that are on their way ahead of runs, each by a copy of its own.
 *
 * <p>Guarded by the memory daemon's lock.
 */
final class PagesAhead implements AutoCloseable {
  /** Pages on their way at a time. */
  static final int MOST = 2;

  /*
   * A page belongs to its model from the moment it is sent for, as an arrival like those of a
   * transfer. A run that begins meanwhile waits for it and sends for the rest. A mounted model's
   * page is copied to where it lies. Another model's page comes by way of one of StagedPages, and
   * is mapped with the others once the model is mounted. What is on disk is not sent for before it
   * has been read (PagesFromDisk). Others give way when it is sent for, not before.
   */
  private final CopyEngine copies;
  private final WeightMemory memory;
  private final PeerMemory peers;
  private final StagedPages staged;
  private final PagesFromDisk fromDisk;
  private final Consumer<Residency> whenOver;
  private final LongSupplier nanoClock;
  private final List<Sent> underWay = new ArrayList<>(MOST);
  private volatile long arrivedNanos; // of what was under way last; written by who completes it

  /**
   * A page that has been sent for.
   *
   * @param over whether all that its end brings has been noted
   */
  record Sent(Residency residency, Arrival arrival, AtomicBoolean over) {}

  /**
   * Nothing is on its way.
   *
   * @param whenOver told a model when a page of it has arrived, on any thread
   */
  PagesAhead(
      Device device,
      WeightMemory memory,
      PeerMemory peers,
      StagedPages staged,
      PagesFromDisk fromDisk,
      Consumer<Residency> whenOver,
      LongSupplier nanoClock) {
    this.copies = device.copies();
    this.memory = memory;
    this.peers = peers;
    this.staged = staged;
    this.fromDisk = fromDisk;
    this.whenOver = whenOver;
    this.nanoClock = nanoClock;
  }

  /** What is not on its way any more since the last call, as it has come or failed to. */
  List<Sent> over() {
    staged.clear();
    fromDisk.settle();
    List<Sent> over = new ArrayList<>();
    for (Iterator<Sent> each = underWay.iterator(); each.hasNext(); ) {
      Sent sent = each.next();
      if (sent.over.get()) {
        over.add(sent);
        each.remove();
      }
    }
    return over;
  }

  /** When the latest page came. */
  long arrivedNanos() {
    return arrivedNanos;
  }

  boolean isEmpty() {
    return underWay.isEmpty();
  }

  boolean isFull() {
    return underWay.size() == MOST;
  }

  /** Whether the last that is on its way is a page of a model. */
  boolean endsWith(Residency residency) {
    return !underWay.isEmpty() && underWay.getLast().residency.equals(residency);
  }

  /** How many models wait for the disk before anything can be sent for. */
  int awaitingDisk() {
    return fromDisk.waiting();
  }

  /**
   * Sends for a model's next page, if there is room for it.
   *
   * @param givesWay who gives way for it; nobody who is not evictable
   * @return the bytes that are on their way; where there are none, there is no room, or the page is
   *     read from disk first, or a run will say why
   */
  long send(Residency residency, Predicate<Residency> givesWay) {
    if (!mayHaveRoom(givesWay)) {
      return 0;
    }
    long offset = memory.residentBytes(residency);
    long bytes = Math.min(memory.pageBytes(), residency.model.plan().weightBytes() - offset);
    Origin origin;
    try {
      origin = peers.open(residency, offset + bytes);
    } catch (RuntimeException | Error e) {
      residency.fetchFailed(nanoClock.getAsLong());
      return 0;
    }
    if (!fromDisk.isRead(residency, origin, offset, bytes)) {
      return 0;
    }
    boolean hasRoom = false;
    try {
      hasRoom = memory.makeRoom(memory.pageBytes(), givesWay);
    } finally {
      if (!hasRoom) {
        origin.close();
      }
    }
    return hasRoom && send(residency, origin, offset, bytes) ? bytes : 0;
  }

  /** Whether a page is free, or somebody is there who gives way. */
  private boolean mayHaveRoom(Predicate<Residency> givesWay) {
    return memory.roomBytes() >= memory.pageBytes()
        || memory.residencies.values().stream().anyMatch(givesWay);
  }

  private boolean send(Residency residency, Origin origin, long offset, long bytes) {
    residency.fetchFailed = true;
    @Nullable FetchAheadEvent event =
        TransferEvent.begun(new FetchAheadEvent(residency.model.version(), offset, bytes));
    DeviceEvent arrived;
    try {
      arrived = copy(residency, origin, offset, bytes);
    } catch (RuntimeException | Error e) {
      residency.fetchFailed(nanoClock.getAsLong());
      origin.close();
      return false;
    }
    residency.fetchFailed = false;
    Arrival arrival = new Arrival(offset, offset + bytes, arrived);
    AtomicBoolean over = new AtomicBoolean();
    underWay.add(new Sent(residency, arrival, over));
    residency.arrivals.add(arrival);
    memory.offer(residency, residency.pages.size() - 1);
    arrived.whenDone(
        () -> {
          arrivedNanos = nanoClock.getAsLong();
          over.set(true);
          try (origin) {
            if (event != null) {
              event.commit();
            }
          } finally {
            whenOver.accept(residency);
          }
        });
    return true;
  }

  private DeviceEvent copy(Residency residency, Origin origin, long offset, long bytes) {
    if (residency.isMounted()) {
      memory.mapUpTo(residency, offset + bytes);
      AddressRange addresses = residency.range().addresses;
      try {
        return copies.copy(origin.upTo(offset + bytes), offset, addresses, offset, bytes);
      } catch (RuntimeException | Error e) {
        memory.takeBack(residency, 1);
        throw e;
      }
    }
    Page page = memory.take();
    try {
      DeviceEvent arrived =
          staged.fetch(
              (range, slot) -> memory.tenants.map(range, slot, page, residency.model.tenant()),
              (range, place) ->
                  copies.copy(origin.upTo(offset + bytes), offset, range, place, bytes));
      memory.add(residency, page);
      return arrived;
    } catch (RuntimeException | Error e) {
      staged.clear();
      memory.giveBack(page);
      throw e;
    }
  }

  /** Gives the addresses back by way of which pages came; nothing is on its way. */
  @Override
  public void close() {
    staged.close();
  }
}
