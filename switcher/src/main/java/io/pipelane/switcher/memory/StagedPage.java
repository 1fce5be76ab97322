package io.pipelane.switcher.memory;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.completion.Completion;
import org.jspecify.annotations.Nullable;

/**
 * Addresses of one page for copies to models that are not mounted: a page under way lies there
 * until its bytes have come. Guarded by the daemon's lock.
 */
final class StagedPage implements AutoCloseable {
  private final Device device;
  private final long pageBytes;
  private @Nullable AddressRange range;
  private @Nullable Page page;
  private DeviceEvent arrived = Completion.DONE;

  StagedPage(Device device) {
    this.device = device;
    this.pageBytes = device.pages().pageBytes();
  }

  /** A copy to addresses that it is given. */
  @FunctionalInterface
  interface Copy {
    DeviceEvent to(AddressRange addresses);
  }

  /** Puts a page under the addresses' only slot. */
  @FunctionalInterface
  interface Mapping {
    void into(AddressRange addresses);
  }

  /** Sends for a page's content; nothing else may be on its way. */
  DeviceEvent fetch(Page fetched, Mapping mapping, Copy copy) {
    clear();
    AddressRange there = range == null ? device.reserve(pageBytes) : range;
    range = there;
    mapping.into(there);
    page = fetched;
    arrived = Completion.DONE;
    arrived = copy.to(there);
    return arrived;
  }

  /** Takes the page from there once its bytes have come, or could not be sent for. */
  void clear() {
    if (range != null && page != null && arrived.isDone()) {
      range.unmap(0);
      page = null;
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
