package io.pipelane.switcher.memory;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.modelstore.ImportedModel;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the memory daemon knows of one model's weights; guarded by the daemon's lock. */
final class Residency {
  /*
   * Slots [0, mappedSlots) of the range have pages. Their content is there but for the arrivals,
   * which are in order, contiguous, and end with the model; they are kept until all are done.
   */
  final ImportedModel model;
  final StructureRange range;
  final Usage usage;

  /** Copies that bring the whole model in. */
  final int groups;

  final List<Arrival> arrivals = new ArrayList<>();
  int mappedSlots;
  int leases;
  boolean retired;
  @Nullable PackedForm packed;

  Residency(ImportedModel model, StructureRange range, int groups, Usage usage) {
    this.groups = groups;
    this.model = model;
    this.range = range;
    this.usage = usage;
  }

  /** A group on its way: bytes {@code [begin, end)} are there once the event has happened. */
  record Arrival(long begin, long end, DeviceEvent event) {
    boolean hasFailed() {
      if (!event.isDone()) {
        return false;
      }
      try {
        event.await();
        return false;
      } catch (StatusException e) {
        return true;
      }
    }
  }

  /** Pages that the whole model takes. */
  int slotsNeeded() {
    return model.plan().weightBytes() == 0 ? 0 : range.addresses.slots();
  }

  int missingSlots() {
    return slotsNeeded() - mappedSlots;
  }

  boolean isArriving() {
    return arrivals.stream().anyMatch(arrival -> !arrival.event().isDone());
  }

  boolean hasFailed() {
    return arrivals.stream().anyMatch(Arrival::hasFailed);
  }

  /** Whether every byte is there or on its way. */
  boolean isComplete() {
    return missingSlots() == 0 && !hasFailed();
  }

  /** Whether pages may be taken away: nothing runs on them, reads them or writes them. */
  boolean isEvictable() {
    return leases == 0 && packed == null && mappedSlots > 0 && !isArriving();
  }
}
