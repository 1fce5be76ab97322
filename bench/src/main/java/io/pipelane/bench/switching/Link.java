package io.pipelane.bench.switching;

import io.pipelane.bench.measure.Run;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.WeightSource;

/** The path from host memory to device memory, with nothing else under way. */
final class Link implements AutoCloseable {
  private final Device device;
  private final AddressRange range;

  /** Maps pages for a number of bytes; nobody else uses the device's pages meanwhile. */
  Link(Device device, long bytes) {
    this.device = device;
    range = device.reserve(bytes);
    for (int slot = 0; slot < range.slots(); slot++) {
      Page page =
          device.pages().take().orElseThrow(() -> new IllegalStateException("pages ran out"));
      range.map(slot, page);
    }
  }

  /** One copy of all of a source's bytes, from its beginning to its end. */
  Run copy(WeightSource source) {
    return () -> device.copies().copy(source, 0, range, 0, source.byteSize()).await();
  }

  @Override
  public void close() {
    for (int slot = 0; slot < range.slots(); slot++) {
      device.pages().giveBack(range.unmap(slot));
    }
    range.close();
  }
}
