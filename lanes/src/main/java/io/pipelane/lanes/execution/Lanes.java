package io.pipelane.lanes.execution;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.EphemeralRegion;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The device's working memory: session constants, and the lanes that iterations run in, together
 * under Salus' safety condition. Safe for any platform thread; {@link #enter} may block.
 */
public final class Lanes implements Reservations, AutoCloseable {
  /*
   * One lock guards the space that lanes are made of (LaneSpace, and what it has borrowed) and who
   * waits for it (LaneWaits). Any change there that somebody may wait for is signalled.
   */
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final LaneSpace space;
  private final BorrowedSpace borrowed;
  private final LaneWaits waits;
  private long iterations;

  /**
   * Reserves the lanes' addresses.
   *
   * @param capacityBytes what lanes and session constants may take together
   * @param maximumLanes lanes that may be open at once
   * @param mostBorrowedBytes what lanes may ever {@link #borrowed borrow} beyond that
   */
  public Lanes(
      Device device,
      DeviceMemory memory,
      long capacityBytes,
      int maximumLanes,
      long mostBorrowedBytes) {
    this.space = new LaneSpace(device, memory, capacityBytes, maximumLanes, mostBorrowedBytes);
    this.borrowed = new BorrowedSpace(lock, changed, space);
    this.waits = new LaneWaits(changed, space);
  }

  /** What lanes and session constants may take of their own. */
  public long capacityBytes() {
    return space.capacityBytes();
  }

  /** What a lane could ever become, were all borrowed that can be. */
  public long mostBytes() {
    return space.mostBytes();
  }

  /** What lanes have borrowed beyond their own. */
  public BorrowedSpace borrowed() {
    return borrowed;
  }

  /** What a lane of so many bytes, were it the only one, has to borrow in all. */
  public long beyondOwnBytes(long laneBytes) {
    lock.lock();
    try {
      return Math.max(0, laneBytes - space.mostPersistentBytes());
    } finally {
      lock.unlock();
    }
  }

  /**
   * Enters a lane with room for an iteration: a new one, or one that is shared in turns.
   *
   * @param ephemeralBytes what the iteration is known to need; it may grow beyond it
   * @param exactly whether a new lane begins with no more, for an iteration that takes memory
   *     beside its lane; it has what another has left beyond that otherwise
   * @param preferredRegions one of which a new lane gets when it is free, such as those that a
   *     session of the model is bound to
   * @param beforeWaiting called, perhaps several times, before the caller waits; under this
   *     object's lock
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when it could not even run alone,
   *     {@link Status#UNAVAILABLE} when it would wait for processes that do not end
   */
  public LaneLease enter(
      long ephemeralBytes,
      boolean exactly,
      Set<EphemeralRegion> preferredRegions,
      Runnable beforeWaiting) {
    String iteration;
    LaneSpace.Lane lane;
    lock.lock();
    try {
      iteration = "iteration " + iterations++;
      lane = waits.enter(iteration, ephemeralBytes, exactly, preferredRegions, beforeWaiting);
    } finally {
      lock.unlock();
    }
    return leased(lane, iteration, ephemeralBytes, bytes -> grow(lane, iteration, bytes));
  }

  /** The same without a preference, for a caller that nobody waits for. */
  public LaneLease enter(long ephemeralBytes) {
    return enter(ephemeralBytes, false, Set.of(), () -> {});
  }

  /**
   * Enters a new lane if there is room for one now; waits for this object's lock alone.
   *
   * @param ephemeralBytes what the iteration is known to need; the lane does not grow beyond it,
   *     but for what has been left in it
   * @return null when there is no room
   */
  public @Nullable LaneLease tryEnter(long ephemeralBytes) {
    @Nullable Entry entry;
    lock.lock();
    try {
      entry = open(ephemeralBytes, false, Set.of());
    } finally {
      lock.unlock();
    }
    return entry == null
        ? null
        : leased(entry.lane(), entry.iteration(), ephemeralBytes, bytes -> false);
  }

  /** An iteration that has a lane to itself. */
  private record Entry(String iteration, LaneSpace.Lane lane) {}

  /** Gives an iteration a lane if there is room for one now, and null otherwise; under the lock. */
  private @Nullable Entry open(
      long ephemeralBytes, boolean exactly, Set<EphemeralRegion> preferredRegions) {
    if (!hasRoom(ephemeralBytes)) {
      return null;
    }
    String iteration = "iteration " + iterations++;
    space.arrive(iteration, ephemeralBytes, exactly, preferredRegions);
    // Where there is room a lane is opened, so nobody else is in it.
    LaneSpace.Lane lane = Objects.requireNonNull(space.laneOf(iteration));
    lane.busy = true;
    return new Entry(iteration, lane);
  }

  /**
   * The same for a thread that must not wait for this object's lock either: under it memory is
   * mapped and given back.
   *
   * @param exactly see {@link #enter}
   * @param beside leaves the lane, where somebody has the lock when the lease is closed, or waits
   *     for a lane
   * @return null also when somebody has the lock, when parked lanes would have to give memory back
   *     for it, or when it cannot have its memory: who waits for a lane is told why
   */
  public @Nullable LaneLease enterAtOnce(long ephemeralBytes, boolean exactly, Executor beside) {
    if (!lock.tryLock()) {
      return null;
    }
    try {
      @Nullable Entry entry =
          space.takesOfParked(ephemeralBytes, exactly)
              ? null
              : open(ephemeralBytes, exactly, Set.of());
      if (entry == null) {
        return null;
      }
      String iteration = entry.iteration();
      LaneSpace.Lane lane = entry.lane();
      boolean limited = false;
      try {
        space.limit(lane);
        lane.region.resetPeak();
        limited = true;
      } catch (StatusException e) {
        return null;
      } finally {
        if (!limited) {
          beside.execute(() -> leave(lane, iteration));
        }
      }
      return lease(
          lane, ephemeralBytes, bytes -> false, () -> leaveAtOnce(lane, iteration, beside));
    } finally {
      lock.unlock();
    }
  }

  /**
   * Enters the lane of a region if nobody is in it and there is room for it now; waits for this
   * object's lock alone. It may grow into what is free, and borrows nothing.
   *
   * @param region one of {@link #regions}
   * @param ephemeralBytes what the iteration is known to need
   * @return null when it cannot be had
   */
  public @Nullable LaneLease tryEnter(EphemeralRegion region, long ephemeralBytes) {
    @Nullable Entry entry;
    lock.lock();
    try {
      entry = space.isParked(region) ? open(ephemeralBytes, false, Set.of(region)) : null;
    } finally {
      lock.unlock();
    }
    if (entry == null) {
      return null;
    }
    String iteration = entry.iteration();
    LaneSpace.Lane lane = entry.lane();
    return leased(lane, iteration, ephemeralBytes, bytes -> growWithin(lane, iteration, bytes));
  }

  /** Whether nobody is in the lane of a region, which is one of {@link #regions}, or is to be. */
  public boolean isFree(EphemeralRegion region) {
    lock.lock();
    try {
      return space.isParked(region);
    } finally {
      lock.unlock();
    }
  }

  /** The memory of each lane that may ever be open. */
  public List<EphemeralRegion> regions() {
    return space.regions();
  }

  /**
   * A lane that cannot have its memory after all is left at once: without the lock, as what it had
   * borrowed goes back then.
   */
  private LaneLease leased(
      LaneSpace.Lane lane, String iteration, long ephemeralBytes, MemoryTarget.Growth growth) {
    boolean leased = false;
    try {
      limit(lane);
      lane.region.resetPeak();
      leased = true;
      return lease(lane, ephemeralBytes, growth, () -> leave(lane, iteration));
    } finally {
      if (!leased) {
        leave(lane, iteration);
      }
    }
  }

  private LaneLease lease(
      LaneSpace.Lane lane, long ephemeralBytes, MemoryTarget.Growth growth, Runnable leave) {
    EphemeralRegion region = lane.region;
    return new LaneLease(
        region,
        () -> Math.max(ephemeralBytes, region.peakBytes()),
        growth,
        reason -> markStuck(lane, reason),
        leave);
  }

  private void limit(LaneSpace.Lane lane) {
    lock.lock();
    try {
      space.limit(lane);
    } finally {
      lock.unlock();
    }
  }

  private void markStuck(LaneSpace.Lane lane, String reason) {
    lock.lock();
    try {
      space.stuck(lane, reason);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void leave(LaneSpace.Lane lane, String iteration) {
    lock.lock();
    try {
      left(lane, iteration);
    } finally {
      lock.unlock();
    }
    borrowed.giveBackSpare();
  }

  private void leaveAtOnce(LaneSpace.Lane lane, String iteration, Executor beside) {
    boolean hasLeft = false;
    boolean hasSpare = false;
    if (lock.tryLock()) {
      try {
        hasLeft = !space.hasPending(); // Who waits has parked lanes give memory back, perhaps.
        if (hasLeft) {
          left(lane, iteration);
          hasSpare = borrowed.spareBytes() > 0;
        }
      } finally {
        lock.unlock();
      }
    }
    if (!hasLeft) {
      beside.execute(() -> leave(lane, iteration));
    } else if (hasSpare) {
      beside.execute(borrowed::giveBackSpare); // Its lender has a lock as well.
    }
  }

  private void left(LaneSpace.Lane lane, String iteration) {
    try {
      lane.left();
      space.finish(iteration);
    } finally {
      changed.signalAll();
    }
  }

  /** Grows within what there is, or else by what can be borrowed at once. */
  private boolean grow(LaneSpace.Lane lane, String iteration, long bytes) {
    if (growWithin(lane, iteration, bytes)) {
      return true;
    }
    try (BorrowedSpace.Borrowing _ = borrowed.begin()) {
      borrowed.lend(missingFor(lane, bytes));
      return growWithin(lane, iteration, bytes);
    }
  }

  private long missingFor(LaneSpace.Lane lane, long bytes) {
    lock.lock();
    try {
      return space.missingFor(lane, bytes);
    } finally {
      lock.unlock();
    }
  }

  private boolean growWithin(LaneSpace.Lane lane, String iteration, long bytes) {
    lock.lock();
    try {
      return space.grow(lane, iteration, bytes);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Takes working memory for something that outlives iterations; waits for lanes that hold it.
   *
   * @return false when there is no room even without lanes
   * @throws StatusException {@link Status#UNAVAILABLE} when it would wait for processes that do not
   *     end
   */
  public boolean reservePersistent(long bytes) {
    lock.lock();
    try {
      return waits.reserve(bytes);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean tryReservePersistent(long bytes) {
    lock.lock();
    try {
      boolean isFree = bytes <= space.freeBytes();
      if (isFree) {
        space.addPersistent(bytes);
      }
      return isFree;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public long mostBeside(long ownBytes) {
    return space.capacityBytes() - ownBytes;
  }

  @Override
  public void releasePersistent(long bytes) {
    lock.lock();
    try {
      space.addPersistent(-bytes);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** What a lane may become when it is the only one; takes no lock, others ask under theirs. */
  public long largestLaneBytes() {
    return space.largestLaneBytes();
  }

  /** Whether a lane of so many bytes could be opened now, beside those that are open. */
  public boolean hasRoom(long ephemeralBytes) {
    lock.lock();
    try {
      return !waits.isReserving() && space.hasRoom(ephemeralBytes);
    } finally {
      lock.unlock();
    }
  }

  /** What nobody has reserved and no open lane takes, of what is not borrowed. */
  public long freeBytes() {
    lock.lock();
    try {
      return space.freeBytes();
    } finally {
      lock.unlock();
    }
  }

  /** Memory of the lanes' regions, open or parked: what they may touch at present. */
  public long laneBytes() {
    lock.lock();
    try {
      return space.regionBytes();
    } finally {
      lock.unlock();
    }
  }

  /** What the lanes are like now. */
  public LanesOverview overview() {
    lock.lock();
    try {
      return space.overview();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Checks the safety condition, parked regions included.
   *
   * @throws IllegalStateException when it does not hold
   */
  public void checkSafety() {
    lock.lock();
    try {
      space.checkSafety();
    } finally {
      lock.unlock();
    }
  }

  /** Gives the regions back; no lane is in use. */
  @Override
  public void close() {
    space.close();
  }
}
