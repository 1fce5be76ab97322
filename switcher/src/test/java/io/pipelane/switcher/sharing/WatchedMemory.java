package io.pipelane.switcher.sharing;

import io.pipelane.lanes.monitor.DeviceError;
import io.pipelane.lanes.monitor.DeviceMonitor;
import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.lanes.monitor.DeviceSample.Health;
import io.pipelane.lanes.monitor.DeviceSample.Memory;
import io.pipelane.lanes.monitor.DeviceSample.Work;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleSupplier;

/** The monitor of a device that is as full as a test says, and which counts its looks. */
public final class WatchedMemory implements DeviceMonitor {
  public static final double HALF = 0.5;
  public static final double FULL = 1;

  public final AtomicInteger looks = new AtomicInteger();

  /** How full it is; asked at each look. */
  public volatile DoubleSupplier taken = () -> HALF;

  @Override
  public DeviceSample sample() {
    looks.incrementAndGet();
    return new DeviceSample(
        Work.UNKNOWN, Memory.ofDevice(OptionalDouble.of(taken.getAsDouble())), Health.UNKNOWN);
  }

  @Override
  public List<DeviceError> errors() {
    return List.of();
  }

  @Override
  public OptionalLong memoryBytes() {
    return OptionalLong.empty();
  }

  @Override
  public String source() {
    return "a test";
  }

  @Override
  public void close() {}
}
