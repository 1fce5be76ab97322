package io.pipelane.switcher.memory.pages;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Bytes of a model's weights on their way: {@code [begin, end)} are there once the event has
 * happened.
 */
public record Arrival(long begin, long end, DeviceEvent event) {
  /** Has something done once all of some have happened, or failed; now where there are none. */
  public static void whenAllDone(List<Arrival> arrivals, Runnable action) {
    AtomicInteger outstanding = new AtomicInteger(arrivals.size() + 1);
    Runnable done =
        () -> {
          if (outstanding.decrementAndGet() == 0) {
            action.run();
          }
        };
    arrivals.forEach(arrival -> arrival.event().whenDone(done));
    done.run();
  }

  /** Whether it is there, so nobody needs to wait for it. */
  public boolean isThere() {
    return event.isDone() && !hasFailed();
  }

  /** Whether it has ended without being there. */
  public boolean hasFailed() {
    if (!event.isDone()) {
      return false;
    }
    try {
      event.await();
      return false;
    } catch (StatusException e) {
      return true;
    }
  }
}
