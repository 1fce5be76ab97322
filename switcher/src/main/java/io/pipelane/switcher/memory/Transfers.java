package io.pipelane.switcher.memory;

import io.pipelane.lanes.CopyEngine;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.memory.pages.Arrival;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The transfers that bring a model's missing weights in, group by group.
 *
 * <p>Guarded by the memory daemon's lock.
 */
final class Transfers {
  private final CopyEngine copies;
  private final WeightMemory memory;
  private final PeerMemory peers;
  private final Grouping grouping;
  private final Consumer<Residency> whenOver;
  private final Runnable whenNothingSent;

  /**
   * Starts nothing yet.
   *
   * @param peers know where weights are nearest
   * @param whenOver told a model when all copies of its transfer have ended, on any thread; not
   *     where there were none
   * @param whenNothingSent told where there were none, under the lock
   */
  Transfers(
      CopyEngine copies,
      WeightMemory memory,
      PeerMemory peers,
      Grouping grouping,
      Consumer<Residency> whenOver,
      Runnable whenNothingSent) {
    this.copies = copies;
    this.memory = memory;
    this.peers = peers;
    this.grouping = grouping;
    this.whenOver = whenOver;
    this.whenNothingSent = whenNothingSent;
  }

  /**
   * Sends for everything that a mounted model misses and others do not have; there is room for it.
   *
   * @param claim what others have, which the model is given
   */
  void start(Residency residency, Claim claim) {
    residency.leaves = false; // Who waits for it has asked for it, and holds it only after this.
    memory.join(residency, claim);
    if (residency.missingSlots() == 0) {
      residency.fetchFailed = false;
      whenAllDone(residency, () -> {});
      return;
    }
    Origin origin = peers.open(residency, residency.model.plan().weightBytes());
    residency.fetchFailed = false;
    long resident = memory.residentBytes(residency);
    int firstSlot = residency.pages.size();
    long missing = bytesToSendFor(residency, claim);
    @Nullable SwitchEvent event =
        TransferEvent.begun(new SwitchEvent(residency.model.version(), resident, missing));
    try {
      long begin = resident + showWhatIsAtHand(residency, origin, claim, resident);
      if (begin < residency.model.plan().weightBytes()) {
        for (Group group : grouping.groups(residency.model.plan(), begin)) {
          bringIn(residency, origin, group, claim);
        }
      }
    } finally {
      origin.closePeerAfter(residency.arrivals);
      whenAllDone(
          residency,
          () -> {
            if (event != null) {
              event.commit();
            }
            origin.close();
          });
    }
    memory.counters.loads++;
    memory.counters.bytesLoaded += missing;
    for (int slot = firstSlot; slot < residency.pages.size(); slot++) {
      if (!claim.has(residency, slot)) {
        memory.offer(residency, slot);
      }
    }
  }

  private long bytesToSendFor(Residency residency, Claim claim) {
    long bytes = 0;
    for (int slot = residency.pages.size(); slot < residency.slotsNeeded(); slot++) {
      bytes += claim.has(residency, slot) ? 0 : memory.bytesIn(residency, slot);
    }
    return bytes;
  }

  /** Has what needs no copy be there, as far as that goes; how many bytes that were. */
  private long showWhatIsAtHand(Residency residency, Origin origin, Claim claim, long begin) {
    long end = residency.model.plan().weightBytes();
    long bytes = claim.pages() == 0 ? copies.atHand(origin.upTo(end), begin, end - begin) : 0;
    if (bytes <= 0) {
      return 0;
    }
    try {
      memory.mapUpTo(residency, begin + bytes);
      long shown = copies.show(origin.upTo(end), begin, residency.range().addresses, begin, bytes);
      memory.counters.copies += shown > 0 ? 1 : 0;
      return shown;
    } catch (RuntimeException | Error e) {
      fail(residency, begin, e);
      throw e;
    }
  }

  /** Goes through a group, of which pages that others have need no copy. */
  private void bringIn(Residency residency, Origin origin, Group group, Claim claim) {
    long pageBytes = memory.pageBytes();
    long begin = group.offset();
    while (begin < group.end()) {
      int slot = (int) (begin / pageBytes);
      boolean claimed = claim.has(residency, slot);
      do {
        slot++;
      } while (slot * pageBytes < group.end() && claim.has(residency, slot) == claimed);
      long end = Math.min(slot * pageBytes, group.end());
      if (claimed) {
        join(residency, claim, begin);
      } else {
        send(residency, origin, begin, end);
      }
      begin = end;
    }
  }

  /** Gives the model the pages from a place on, unless it has had them with an earlier group. */
  private void join(Residency residency, Claim claim, long begin) {
    try {
      memory.join(residency, claim);
    } catch (RuntimeException | Error e) {
      fail(residency, begin, e);
      throw e;
    }
  }

  /** Maps pages just ahead of the copy to them; a failure fails the rest of the transfer. */
  private void send(Residency residency, Origin origin, long begin, long end) {
    try {
      memory.mapUpTo(residency, end);
      DeviceEvent arrived =
          copies.copy(origin.upTo(end), begin, residency.range().addresses, begin, end - begin);
      residency.arrivals.add(new Arrival(begin, end, arrived));
      memory.counters.copies++;
      memory.copiesUnderWay.incrementAndGet();
      arrived.whenDone(memory.copiesUnderWay::decrementAndGet);
    } catch (RuntimeException | Error e) {
      fail(residency, begin, e);
      throw e;
    }
  }

  private static void fail(Residency residency, long begin, Throwable reason) {
    long end = residency.model.plan().weightBytes();
    residency.arrivals.add(new Arrival(begin, end, new FailedEvent(reason)));
  }

  /**
   * Not the last alone: after a failure to send for it, earlier groups are still on their way.
   * Where nothing was sent nobody has waited for the link, but others may have given way.
   */
  private void whenAllDone(Residency residency, Runnable first) {
    if (residency.arrivals.isEmpty()) {
      first.run();
      whenNothingSent.run();
      return;
    }
    Arrival.whenAllDone(
        residency.arrivals,
        () -> {
          try {
            first.run();
          } finally {
            whenOver.accept(residency);
          }
        });
  }
}
