package io.pipelane.lanes;

import io.pipelane.config.StatusException;
import java.util.OptionalInt;

/** A point in a device's work that other work waits for; it happens once. Safe for any thread. */
public interface DeviceEvent {
  boolean isDone();

  /**
   * Blocks the calling platform thread until the event has happened.
   *
   * @throws StatusException when the work before it failed
   */
  void await();

  /**
   * What the device's own count of such events has come to when it has happened, where the device
   * keeps one for other processes; it goes round.
   */
  default OptionalInt number() {
    return OptionalInt.empty();
  }

  /** Runs an action once the event has happened, well or not; at once when it already has. */
  void whenDone(Runnable action);
}
