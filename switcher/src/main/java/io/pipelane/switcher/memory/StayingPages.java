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
   * held for it: the page may be taken away meanwhile, which ends the copy. So whether a page has
   * memory of its own is asked when its turn comes again, however the copy has ended.
   */
  private static final long INTERVAL_NANOS = Duration.ofSeconds(1).toNanos();

  private final Device device;
  private final WeightMemory memory;
  private final Runnable signal;
  private final LongSupplier nanoClock;
  private @Nullable Copy underWay; // or settled at the next call
  private long lookedNanos;
  private volatile long arrivedNanos; // of the latest page; written by who completes it

  /** A page of a model on its way into memory of its own. */
  private static final class Copy {
    final Residency residency;
    boolean failed; // written before `over`
    volatile boolean over; // once all has been noted

    Copy(Residency residency) {
      this.residency = residency;
    }
  }

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
    return underWay == null || underWay.over;
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
    settle();
    boolean isDue = nowNanos - lookedNanos >= INTERVAL_NANOS;
    if (isDue) {
      lookedNanos = nowNanos;
      device.dropGone();
    }
    if (device.shownPages() == 0) {
      return false;
    }
    if (isDue) {
      memory.residencies.values().forEach(each -> each.stay.look(each.pages.size()));
    }
    for (Residency residency : memory.residencies.values()) {
      while (residency.stay.hasNext(nowNanos)) {
        if (send(residency)) {
          return true;
        }
        residency.stay.nextIsOwned();
      }
    }
    return false;
  }

  private void settle() {
    if (underWay != null && underWay.failed) {
      underWay.residency.stay.failed(arrivedNanos);
    }
    underWay = null;
  }

  /** Has a page copied; false where it has memory of its own. */
  private boolean send(Residency residency) {
    Optional<DeviceEvent> copied = device.own(residency.pages.get(residency.stay.next()));
    copied.ifPresent(
        event -> {
          Copy copy = new Copy(residency);
          underWay = copy;
          event.whenDone(() -> over(copy, event));
        });
    return copied.isPresent();
  }

  private void over(Copy copy, DeviceEvent event) {
    arrivedNanos = nanoClock.getAsLong();
    try {
      event.await();
    } catch (StatusException e) { // It shows what it has shown, and is tried again.
      LOG.log(Level.WARNING, "a page gets no memory of its own", e);
      copy.failed = true;
    } finally {
      copy.over = true;
      signal.run();
    }
  }
}
