package io.pipelane.lanes;

import io.pipelane.config.StatusException;

/** A point in a device's work that other work waits for; it happens once. Safe for any thread. */
public interface DeviceEvent {
  boolean isDone();

  /**
   * Blocks the calling platform thread until the event has happened.
   *
   * @throws StatusException when the work before it failed
   */
  void await();

  /** Runs an action once the event has happened, well or not; at once when it already has. */
  void whenDone(Runnable action);
}
