package io.pipelane.lanes.monitor;

import java.util.List;
import java.util.OptionalLong;

/** A source of samples of a device, asked again and again. Belongs to one thread. */
public interface DeviceMonitor extends AutoCloseable {
  /**
   * Looks once; some of it is about the time since the look before.
   *
   * @throws io.pipelane.config.StatusException when the device cannot be used at present
   */
  DeviceSample sample();

  /** Errors that the device has reported since the last call; none where it reports none. */
  List<DeviceError> errors();

  /**
   * All memory of the device; empty where it is not known, or what is taken of it counts as it is
   * used.
   */
  OptionalLong memoryBytes();

  /** Where the figures come from, or why there are none. */
  String source();

  @Override
  void close();

  /** A monitor that sees nothing, and says why. */
  static DeviceMonitor none(String reason) {
    return new DeviceMonitor() {
      @Override
      public DeviceSample sample() {
        return DeviceSample.UNKNOWN;
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
        return reason;
      }

      @Override
      public void close() {}
    };
  }
}
