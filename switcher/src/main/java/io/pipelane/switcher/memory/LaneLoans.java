package io.pipelane.switcher.memory;

import io.pipelane.lanes.Device;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.execution.Reserve;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * The bytes that lanes have borrowed of the memory for weights (Salus' failsafe, short paper §2.2).
 * Models that nobody computes with give way to a run that needs more than was set aside for lanes.
 * Safe for any platform thread.
 */
public final class LaneLoans implements Reserve {
  /*
   * What is lent is pages of the pool, taken from the tail of those that give way first, as for
   * weights. Their memory goes back to the system under the lock, before the lanes are told. So the
   * two together never hold more than there is, and pages that lanes give back have no memory.
   *
   * A run that grows takes all that it lacks at once, or nothing, as a part would not help it. One
   * that has to wait stands before all that wait for pages, so those that compute get done and
   * nobody new begins. Meanwhile it holds its own weights. So only one may wait at a time, and
   * whoever else needs a loan has let go of its weights (LaneThreads): otherwise two could wait for
   * what the other holds.
   */
  private final ReentrantLock lock;
  private final Device device;
  private final WeightMemory memory;
  private final FetchOnDemand fetchOnDemand;
  private final StuckLeases stuck;
  private final Runnable signal;

  /**
   * Nothing is lent.
   *
   * @param lock the daemon's
   * @param signal says that pages have come back; called without the lock
   */
  LaneLoans(
      ReentrantLock lock,
      Device device,
      WeightMemory memory,
      FetchOnDemand fetchOnDemand,
      StuckLeases stuck,
      Runnable signal) {
    this.lock = lock;
    this.device = device;
    this.memory = memory;
    this.fetchOnDemand = fetchOnDemand;
    this.stuck = stuck;
    this.signal = signal;
  }

  /**
   * Has the lanes say what runs that do not end keep of the loans.
   *
   * @param bytes in whole units; asked under the daemon's lock
   */
  public void keptByStuckRuns(LongSupplier bytes) {
    stuck.lanesKeep(bytes);
  }

  @Override
  public long unitBytes() {
    return memory.pageBytes();
  }

  @Override
  public long lend(long bytes) {
    if (!device.vacatesPages()) {
      return 0;
    }
    lock.lock();
    try {
      memory.settleAll();
      return bytes <= memory.bytesThatGiveWay() ? lendVacated(bytes) : 0;
    } finally {
      lock.unlock();
    }
  }

  /** Whether so much could be lent in all beside a model's weights, once nobody else computes. */
  public boolean couldLend(long bytes, Lease held) {
    lock.lock();
    try {
      return device.vacatesPages() && bytes <= memory.capacity.beside(held.residency());
    } finally {
      lock.unlock();
    }
  }

  /**
   * Lends as much as is wanted, waiting for runs that hold weights, or nothing once that has become
   * more than there can be; for one caller at a time.
   *
   * @param bytes beside what is lent already, as far as {@link #couldLend} allows; asked again and
   *     again, under the daemon's lock, as others may leave what was lent to them
   * @param held the caller's weights, which stay
   * @param beforeWaiting called, perhaps several times, before the caller waits; under the daemon's
   *     lock
   * @throws io.pipelane.config.StatusException when the model goes meanwhile, or runs that do not
   *     end keep what is lacking
   */
  public long await(LongSupplier bytes, Lease held, Runnable beforeWaiting) {
    lock.lock();
    try {
      fetchOnDemand.goFirst(
          held.residency(),
          () -> {
            memory.settleAll();
            long lacking = bytes.getAsLong();
            stuck.requireRoomForLanes(lacking, held.residency());
            return isTooMuch(lacking, held)
                ? !memory.isUsedBeside(held.residency()) // Sessions that are idle then give way.
                : memory.makeRoomForLanes(lacking);
          },
          beforeWaiting);
      long lacking = bytes.getAsLong();
      return isTooMuch(lacking, held) ? 0 : lendVacated(lacking);
    } finally {
      lock.unlock();
    }
  }

  /** Whether what is lacking could not be lent whoever gives way; it may grow meanwhile. */
  private boolean isTooMuch(long lacking, Lease held) {
    return lacking > memory.capacity.beside(held.residency());
  }

  /** Under the lock, so that nobody gives pages back that are not vacated yet. */
  private long lendVacated(long bytes) {
    List<Page> pages = memory.lend(bytes);
    boolean vacated = false;
    try {
      pages.forEach(device::vacate);
      vacated = true;
      return pages.size() * memory.pageBytes();
    } finally {
      if (!vacated) {
        memory.takeBackFromLanes(pages.size());
      }
    }
  }

  @Override
  public void giveBack(long bytes) {
    lock.lock();
    try {
      memory.takeBackFromLanes(Math.toIntExact(bytes / memory.pageBytes()));
    } finally {
      lock.unlock();
    }
    signal.run();
  }
}
