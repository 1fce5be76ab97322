package io.pipelane.switcher.memory;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.CopyEngine;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PagePool;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.modelstore.WeightSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Another device, which notes the copies it is given, in their order. */
record RecordingDevice(Device device, List<Copy> given) implements Device {
  /** Of a source's bytes. */
  record Copy(WeightSource source, long offset, long end) {}

  static RecordingDevice of(Device device) {
    return new RecordingDevice(device, Collections.synchronizedList(new ArrayList<>()));
  }

  @Override
  public CopyEngine copies() {
    CopyEngine engine = device.copies();
    return (source, sourceOffset, range, rangeOffset, bytes) -> {
      given.add(new Copy(source, sourceOffset, sourceOffset + bytes));
      return engine.copy(source, sourceOffset, range, rangeOffset, bytes);
    };
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
    return device.reserve(bytes);
  }

  @Override
  public AddressRange reserve(long bytes, long windowBytes) {
    return device.reserve(bytes, windowBytes);
  }

  @Override
  public PersistentMemory persistent() {
    return device.persistent();
  }

  @Override
  public EphemeralRegion ephemeral(long maximumBytes) {
    return device.ephemeral(maximumBytes);
  }

  @Override
  public void close() {
    device.close();
  }
}
