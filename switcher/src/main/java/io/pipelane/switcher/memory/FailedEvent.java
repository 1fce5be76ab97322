package io.pipelane.switcher.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;

/**
 * The arrival of something that could not even be sent for.
 *
 * @param cause why
 */
record FailedEvent(Throwable cause) implements DeviceEvent {
  @Override
  public boolean isDone() {
    return true;
  }

  @Override
  public void await() {
    throw new StatusException(
        Status.INTERNAL, "the weights could not be brought in: " + cause.getMessage(), cause);
  }

  @Override
  public void whenDone(Runnable action) {
    action.run();
  }
}
