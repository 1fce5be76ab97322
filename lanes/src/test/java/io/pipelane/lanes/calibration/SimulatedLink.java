package io.pipelane.lanes.calibration;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.CopyEngine;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PagePool;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.modelstore.WeightSource;
import java.util.concurrent.atomic.AtomicLong;

/** A device whose copies take no time but what they add to a clock. */
record SimulatedLink(Device real, AtomicLong clock, long costNanos, double nanosPerByte)
    implements Device, CopyEngine {

  /** Has happened. */
  private enum Done implements DeviceEvent {
    DONE;

    @Override
    public boolean isDone() {
      return true;
    }

    @Override
    public void await() {}

    @Override
    public void whenDone(Runnable action) {
      action.run();
    }
  }

  @Override
  public DeviceEvent copy(
      WeightSource source, long sourceOffset, AddressRange range, long rangeOffset, long bytes) {
    clock.addAndGet(costNanos + Math.round(bytes * nanosPerByte));
    return Done.DONE;
  }

  @Override
  public String name() {
    return real.name();
  }

  @Override
  public PagePool pages() {
    return real.pages();
  }

  @Override
  public AddressRange reserve(long bytes) {
    return real.reserve(bytes);
  }

  @Override
  public CopyEngine copies() {
    return this;
  }

  @Override
  public PersistentMemory persistent() {
    return real.persistent();
  }

  @Override
  public EphemeralRegion ephemeral(long maximumBytes) {
    return real.ephemeral(maximumBytes);
  }

  @Override
  public void close() {
    real.close();
  }
}
