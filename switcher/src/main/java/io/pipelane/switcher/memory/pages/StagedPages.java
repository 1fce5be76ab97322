package io.pipelane.switcher.memory.pages;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.completion.Completion;
import org.jspecify.annotations.Nullable;

/**
 * Addresses of a few pages for copies to models that are not mounted: a page under way lies there
 * until its bytes have come. Guarded by the daemon's lock.
 */
public final class StagedPages implements AutoCloseable {
  private final Device device;
  private final long pageBytes;
  private final @Nullable DeviceEvent[] arrivals; // by slot; null where no page lies
  private @Nullable AddressRange range;

  /** Has room for so many pages on their way; takes no addresses before the first. */
  public StagedPages(Device device, int most) {
    this.device = device;
    this.pageBytes = device.pages().pageBytes();
    this.arrivals = new DeviceEvent[most];
  }

  /** A copy to a place in a range. */
  @FunctionalInterface
  public interface Copy {
    DeviceEvent to(AddressRange range, long offset);
  }

  /** The way to put a page under a slot of a range. */
  @FunctionalInterface
  public interface Mapping {
    void into(AddressRange range, int slot);
  }

  /** Sends for a page's content; fewer than the most are on their way. */
  public DeviceEvent fetch(Mapping mapping, Copy copy) {
    clear();
    AddressRange there = range == null ? device.reserve(arrivals.length * pageBytes) : range;
    range = there;
    int slot = freeSlot();
    mapping.into(there, slot);
    arrivals[slot] = Completion.DONE;
    DeviceEvent arrival = copy.to(there, slot * pageBytes);
    arrivals[slot] = arrival;
    return arrival;
  }

  private int freeSlot() {
    for (int slot = 0; slot < arrivals.length; slot++) {
      if (arrivals[slot] == null) {
        return slot;
      }
    }
    throw new IllegalStateException(arrivals.length + " pages are on their way, which is the most");
  }

  /** Takes the pages from there whose bytes have come, or could not be sent for. */
  public void clear() {
    for (int slot = 0; slot < arrivals.length; slot++) {
      DeviceEvent arrival = arrivals[slot];
      if (range != null && arrival != null && arrival.isDone()) {
        range.unmap(slot);
        arrivals[slot] = null;
      }
    }
  }

  @Override
  public void close() {
    clear();
    if (range != null) {
      range.close();
      range = null;
    }
  }
}
