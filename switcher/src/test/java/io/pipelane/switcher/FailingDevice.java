package io.pipelane.switcher;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.CopyEngine;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.HeldSource;
import io.pipelane.lanes.PagePool;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.HostMemory;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Another device, one of whose calls finds no memory, the n-th that could take some; or some of
 * whose copies fail on their way; or whose pages cannot be unmapped, as it is lost.
 */
final class FailingDevice implements Device {
  private final Device device;
  private final AtomicInteger calls = new AtomicInteger();
  private final AtomicInteger lostCopies = new AtomicInteger();
  private volatile int failing;
  private volatile boolean unmapFails;

  FailingDevice(Device device) {
    this.device = device;
  }

  /** Has so many of the copies that are given next fail once they are on their way. */
  void failArrivals(int count) {
    lostCopies.set(count);
  }

  /** Counts from here, and fails the n-th call; none when n is 0. */
  void failCall(int n) {
    calls.set(0);
    failing = n;
  }

  /** Whether pages cannot be unmapped from now on. */
  void failUnmap(boolean fails) {
    unmapFails = fails;
  }

  private void step(String what) {
    if (calls.incrementAndGet() == failing) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY, what + ": out of memory, injected at call " + failing);
    }
  }

  @Override
  public String name() {
    return device.name();
  }

  @Override
  public PagePool pages() {
    return device.pages();
  }

  @Override
  public AddressRange reserve(long bytes) {
    return reserve(bytes, 0);
  }

  @Override
  public AddressRange reserve(long bytes, long windowBytes) {
    step("reserve");
    return new Range(device.reserve(bytes, windowBytes));
  }

  @Override
  public CopyEngine copies() {
    return new Copies();
  }

  @Override
  public PersistentMemory persistent() {
    return device.persistent();
  }

  @Override
  public EphemeralRegion ephemeral(long maximumBytes) {
    step("ephemeral");
    return device.ephemeral(maximumBytes);
  }

  @Override
  public void close() {
    device.close();
  }

  private final class Copies implements CopyEngine {
    @Override
    public DeviceEvent copy(
        WeightSource source, long sourceOffset, AddressRange range, long rangeOffset, long bytes) {
      step("copy");
      AddressRange real = range instanceof Range wrapped ? wrapped.range : range;
      boolean isLost = lostCopies.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
      WeightSource from = isLost ? HeldSource.failing(source.byteSize()) : source;
      return device.copies().copy(from, sourceOffset, real, rangeOffset, bytes);
    }
  }

  private final class Range implements AddressRange {
    private final AddressRange range;

    Range(AddressRange range) {
      this.range = range;
    }

    @Override
    public long address() {
      return range.address();
    }

    @Override
    public long byteSize() {
      return range.byteSize();
    }

    @Override
    public int slots() {
      return range.slots();
    }

    @Override
    public void map(int slot, PagePool.Page page) {
      step("map");
      range.map(slot, page);
    }

    @Override
    public void mapZeroed(int slot, PagePool.Page page) {
      step("map");
      range.mapZeroed(slot, page);
    }

    @Override
    public PagePool.Page unmap(int slot) {
      if (unmapFails) {
        throw new StatusException(Status.DEVICE_FAILURE, "the device is lost");
      }
      return range.unmap(slot);
    }

    @Override
    public DeviceEvent settled(int slots) {
      return range.settled(slots);
    }

    @Override
    public long windowAddress() {
      return range.windowAddress();
    }

    @Override
    public void show(HostMemory.Loaded held) {
      step("show");
      range.show(held);
    }

    @Override
    public void hide() {
      range.hide();
    }

    @Override
    public MemorySegment memory() {
      return range.memory();
    }

    @Override
    public void close() {
      range.close();
    }
  }
}
