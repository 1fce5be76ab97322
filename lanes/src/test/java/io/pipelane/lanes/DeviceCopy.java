package io.pipelane.lanes;

import io.pipelane.modelstore.MemorySource;
import java.lang.foreign.MemorySegment;

/** A table's place in pages of a device, where a copy of it comes and goes. */
public final class DeviceCopy implements AutoCloseable {
  private final Device device;
  private final MemorySegment table;
  private final AddressRange range;

  /** A place that is empty. */
  public DeviceCopy(Device device, MemorySegment table) {
    this.device = device;
    this.table = table;
    this.range = device.reserve(table.byteSize());
  }

  /** What is held, to be written to as nobody but a test may. */
  public static MemorySegment writable(MemorySegment held) {
    return MemorySegment.ofAddress(held.address()).reinterpret(held.byteSize());
  }

  public AddressRange range() {
    return range;
  }

  /** Has the table be there as it is now. */
  public void fill() {
    for (int slot = 0; slot < range.slots(); slot++) {
      range.map(slot, device.pages().take().orElseThrow());
    }
    device.copies().copy(new MemorySource(table), 0, range, 0, table.byteSize()).await();
  }

  /** Gives its pages back. */
  public void empty() {
    for (int slot = 0; slot < range.slots(); slot++) {
      device.pages().giveBack(range.unmap(slot));
    }
  }

  /** It is empty. */
  @Override
  public void close() {
    range.close();
  }
}
