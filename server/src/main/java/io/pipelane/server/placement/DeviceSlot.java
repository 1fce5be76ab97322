package io.pipelane.server.placement;

import org.jspecify.annotations.Nullable;

/** A device that has room for one offline job. Guarded by the placement's lock. */
final class DeviceSlot {
  final String name;
  final OnlineWatch online = new OnlineWatch();
  private DeviceReading reading;

  /** The job that is here. */
  @Nullable PlacedJob job;

  /** The job that comes here, once the one that is here has gone. */
  @Nullable PlacedJob next;

  DeviceSlot(DeviceReading reading) {
    this.name = reading.name();
    this.reading = reading;
  }

  void look(DeviceReading now, long nowNanos) {
    reading = now;
    online.look(now, nowNanos);
  }

  DeviceReading reading() {
    return reading;
  }

  /** Whether a job could begin here at once. */
  boolean isFree() {
    return job == null && next == null && reading.takesJobs();
  }
}
