package io.pipelane.switcher.memory;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.MemorySource;
import io.pipelane.switcher.residency.ResidencySettings;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Comparator;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The copying of tables to the device, page by page, that hot models read in place. Guarded by the
 * memory daemon's lock.
 */
final class TablesAhead {
  private static final System.Logger LOG = System.getLogger(TablesAhead.class.getName());

  /*
   * A run that reads a table in place takes some tenths of a millisecond longer than one that reads
   * its copy. The copy costs as much as a switch, and each of some shapes a capture of 25 ms. So it
   * pays after some hundred runs, if nobody else has a use for the memory; what is asked for is a
   * multiple of that. Runs fade, so half of them are enough for the rest of a copy that has begun.
   * They are counted anew when a copy has left: it leaves for others, who may want the room again.
   */
  private final ReentrantLock lock;
  private final Device device;
  private final WeightMemory memory;
  private final boolean moves;
  private final Duration halfLife;
  private final int hotRuns;
  private final Runnable signal;
  private final LongSupplier nanoClock;
  private @Nullable Residency underWay;
  private long arrivedNanos;

  /**
   * Nothing is on its way.
   *
   * @param lock the daemon's
   * @param residency whether weights come in while no request waits, and which models are hot
   * @param signal says that a page has arrived; called without the lock, by any thread
   */
  TablesAhead(
      ReentrantLock lock,
      Device device,
      WeightMemory memory,
      ResidencySettings residency,
      Runnable signal,
      LongSupplier nanoClock) {
    this.lock = lock;
    this.device = device;
    this.memory = memory;
    this.moves = device.windowsShowPages() && residency.config().idlePrefetch();
    this.halfLife = residency.config().halfLife();
    this.hotRuns = residency.hotRuns();
    this.signal = signal;
    this.nanoClock = nanoClock;
    this.arrivedNanos = nanoClock.getAsLong();
  }

  /** An online run of a model begins. */
  void used(Residency residency, long nowNanos) {
    if (moves && residency.model.plan().inPlaceBytes() > 0) {
      residency.inPlace.copy().used(halfLife, nowNanos);
    }
  }

  boolean isEmpty() {
    return underWay == null;
  }

  /** When the latest page came. */
  long arrivedNanos() {
    return arrivedNanos;
  }

  /**
   * Sends for the next page of the hottest model's table that has not come, if there is room for
   * all of that which nobody holds; nothing is on its way.
   *
   * @return whether a page is on its way now
   */
  boolean sendNext(long nowNanos) {
    if (!moves) {
      return false;
    }
    Optional<Residency> next = best(TablesAhead::isBegun, nowNanos);
    if (next.isPresent() && !isDue(next.get(), nowNanos)) {
      memory.tables.leave(next.get());
      next = Optional.empty();
    }
    return next.or(() -> best(residency -> isDue(residency, nowNanos), nowNanos))
        .filter(this::send)
        .isPresent();
  }

  private Optional<Residency> best(Predicate<Residency> some, long nowNanos) {
    return memory.tables.models().stream()
        .filter(some)
        .max(Comparator.comparingDouble(each -> each.inPlace.copy().usesAt(nowNanos)));
  }

  private static boolean isBegun(Residency residency) {
    TableCopy copy = residency.inPlace.copy();
    return !copy.isWhole() && !copy.pages().isEmpty();
  }

  private boolean isDue(Residency residency, long nowNanos) {
    TableCopy copy = residency.inPlace.copy();
    long slots = copy.slots(memory.pageBytes());
    long missing = slots - copy.pages().size();
    return missing > 0
        && copy.usesAt(nowNanos) >= (copy.pages().isEmpty() ? hotRuns : hotRuns / 2)
        && isWanted(residency)
        && missing * memory.pageBytes() <= memory.freeBytes();
  }

  /** Whether a copy is of use: everything else of the model is here, and stays as far as known. */
  private static boolean isWanted(Residency residency) {
    return !residency.retired
        && !residency.leaves
        && !residency.holding.isOffline()
        && residency.isComplete();
  }

  private boolean send(Residency residency) {
    TableCopy copy = residency.inPlace.copy();
    int slot = copy.pages().size();
    Page page = memory.take();
    DeviceEvent arrival;
    try {
      AddressRange addresses = copy.addresses(device::reserve);
      memory.tenants.map(addresses, slot, page, residency.model.tenant());
      try {
        arrival = copy(copy.table(), slot, addresses);
      } catch (RuntimeException | Error e) {
        addresses.unmap(slot);
        throw e;
      }
    } catch (RuntimeException | Error e) {
      memory.giveBack(page);
      memory.tables.leave(residency, false);
      LOG.log(Level.WARNING, "the table of " + residency.model.version() + " stays on the host", e);
      return false;
    }
    copy.sent(page, arrival);
    underWay = residency;
    arrival.whenDone(() -> over(residency));
    return true;
  }

  private DeviceEvent copy(MemorySource table, int slot, AddressRange addresses) {
    long offset = slot * memory.pageBytes();
    long bytes = Math.min(memory.pageBytes(), table.byteSize() - offset);
    return device.copies().copy(table, offset, addresses, offset, bytes);
  }

  private void over(Residency residency) {
    lock.lock();
    try {
      underWay = null;
      arrivedNanos = nanoClock.getAsLong();
      settle(residency);
    } finally {
      lock.unlock();
      signal.run();
    }
  }

  /** What was on its way has arrived, or failed to. */
  private void settle(Residency residency) {
    TableCopy copy = residency.inPlace.copy();
    if (!copy.arrived()) {
      memory.tables.leave(residency, false);
    } else if (copy.leaves() || !isWanted(residency)) {
      memory.tables.leave(residency, true);
    } else if (copy.pages().size() == copy.slots(memory.pageBytes())) {
      copy.complete(residency.mountedIn);
      memory.counters.tablesCopied++;
    }
  }
}
