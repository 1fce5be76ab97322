package io.pipelane.switcher.memory;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceEvent;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The giving of memory of their own, page by page, to pages that stay and show weights where they
 * lie in memory that the system may take away. Guarded by the memory daemon's lock.
 */
final class StayingPages {
  private static final System.Logger LOG = System.getLogger(StayingPages.class.getName());

  /*
   * A page that leaves again soon is not worth copying: showing it has saved just that. So all
   * models are looked at once in a while, and what was there the last time is copied. Nothing is
   * held for it: the page may be taken away meanwhile, which ends the copy.
   */
  private static final long INTERVAL_NANOS = Duration.ofSeconds(1).toNanos();

  private final Device device;
  private final WeightMemory memory;
  private final Runnable signal;
  private final LongSupplier nanoClock;
  private @Nullable DeviceEvent underWay;
  private long lookedNanos;
  private volatile long arrivedNanos; // of the latest page; written by who completes it

  /**
   * Nothing is on its way.
   *
   * @param signal says that a page has been copied; called by any thread
   */
  StayingPages(Device device, WeightMemory memory, Runnable signal, LongSupplier nanoClock) {
    this.device = device;
    this.memory = memory;
    this.signal = signal;
    this.nanoClock = nanoClock;
    this.lookedNanos = nanoClock.getAsLong();
    this.arrivedNanos = lookedNanos;
  }

  boolean isEmpty() {
    return underWay == null || underWay.isDone();
  }

  /** When the latest page had been copied. */
  long arrivedNanos() {
    return arrivedNanos;
  }

  /**
   * Has the next page copied that has stayed; nothing is on its way.
   *
   * @return whether one is on its way now
   */
  boolean sendNext(long nowNanos) {
    if (device.shownPages() == 0) {
      return false;
    }
    if (nowNanos - lookedNanos >= INTERVAL_NANOS) {
      lookedNanos = nowNanos;
      memory.residencies.values().forEach(each -> each.stay.look(each.pages.size()));
    }
    for (Residency residency : memory.residencies.values()) {
      while (residency.stay.hasNext()) {
        if (send(residency, residency.stay.next())) {
          return true;
        }
      }
    }
    return false;
  }

  /** Has a page copied; false where it has memory of its own. */
  private boolean send(Residency residency, int slot) {
    Optional<DeviceEvent> copied = device.own(residency.pages.get(slot));
    copied.ifPresent(
        event -> {
          underWay = event;
          event.whenDone(() -> over(event));
        });
    return copied.isPresent();
  }

  private void over(DeviceEvent copied) {
    arrivedNanos = nanoClock.getAsLong();
    try {
      copied.await();
    } catch (StatusException e) { // It shows what it has shown.
      LOG.log(Level.WARNING, "a page gets no memory of its own", e);
    }
    signal.run();
  }
}
