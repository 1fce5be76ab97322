package io.pipelane.switcher.memory;

import io.pipelane.lanes.CopyEngine;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.memory.Residency.Arrival;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Starts the copies that bring a model's missing weights in, group by group.
 *
 * <p>Guarded by the memory daemon's lock.
 */
final class Transfers {
  private final CopyEngine copies;
  private final WeightMemory memory;
  private final PeerMemory peers;
  private final Grouping grouping;
  private final Consumer<Residency> whenOver;

  /**
   * Starts nothing yet.
   *
   * @param peers know where weights are nearest
   * @param whenOver told a model when all copies of its transfer have ended, on any thread
   */
  Transfers(
      CopyEngine copies,
      WeightMemory memory,
      PeerMemory peers,
      Grouping grouping,
      Consumer<Residency> whenOver) {
    this.copies = copies;
    this.memory = memory;
    this.peers = peers;
    this.grouping = grouping;
    this.whenOver = whenOver;
  }

  /** Sends for everything that a mounted model misses; there is room for it. */
  void start(Residency residency) {
    Origin origin = peers.open(residency, residency.model.plan().weightBytes());
    residency.fetchFailed = false;
    long resident = memory.residentBytes(residency);
    long missing = residency.model.plan().weightBytes() - resident;
    SwitchEvent event = SwitchEvent.begun(residency.model.version(), resident, missing);
    try {
      for (Group group : grouping.groups(residency.model.plan(), resident)) {
        bringIn(residency, origin, group);
        memory.counters.copies++;
      }
    } finally {
      origin.closePeerAfter(residency.arrivals);
      whenAllDone(residency, origin, event);
    }
    memory.counters.loads++;
    memory.counters.bytesLoaded += missing;
  }

  /** Maps the pages of a group just ahead of its copy; a failure fails the rest of the transfer. */
  private void bringIn(Residency residency, Origin origin, Group group) {
    try {
      memory.mapUpTo(residency, group.end());
      DeviceEvent arrived =
          copies.copy(
              origin.upTo(group.end()),
              group.offset(),
              residency.range().addresses,
              group.offset(),
              group.byteSize());
      residency.arrivals.add(new Arrival(group.offset(), group.end(), arrived));
      memory.copiesUnderWay.incrementAndGet();
      arrived.whenDone(memory.copiesUnderWay::decrementAndGet);
    } catch (RuntimeException | Error e) {
      long end = residency.model.plan().weightBytes();
      residency.arrivals.add(new Arrival(group.offset(), end, new FailedEvent(e)));
      throw e;
    }
  }

  /** Not the last alone: after a failure to send for it, earlier groups are still on their way. */
  private void whenAllDone(Residency residency, Origin origin, @Nullable SwitchEvent event) {
    Arrival.whenAllDone(
        residency.arrivals,
        () -> {
          if (event != null) {
            event.commit();
          }
          try {
            origin.close();
          } finally {
            whenOver.accept(residency);
          }
        });
  }
}
