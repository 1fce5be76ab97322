package io.pipelane.lanes.execution;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.assignment.Decision;
import io.pipelane.lanes.assignment.Decision.Assigned;
import io.pipelane.lanes.assignment.Decision.Opened;
import io.pipelane.lanes.assignment.Departure;
import io.pipelane.lanes.assignment.Job;
import io.pipelane.lanes.assignment.LaneId;
import io.pipelane.lanes.assignment.LaneTable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The device's working memory: session constants, and the lanes that iterations run in, together
 * under Salus' safety condition. Safe for any platform thread; {@link #enter} may block.
 */
public final class Lanes implements Reservations, AutoCloseable {
  /*
   * A job of the lane table is one iteration; its persistent memory (weights) is not counted here,
   * as weights have a budget of their own, and session constants are told to the table as a sum.
   *
   * A lane lives as long as iterations run or wait in it. Its region outlives it, parked, so that
   * the next lane finds memory that has been touched; parked bytes are free for anybody: they are
   * trimmed as soon as the room is needed. One lock guards table, lanes and parked regions:
   *
   *   persistent + sum of open lanes + sum of parked limits <= capacity + borrowed.
   *
   * What is borrowed of a reserve is for lanes alone, persistent <= capacity: so it is all to be had
   * once the lanes have been left, and goes back as they are, unless somebody is about to enter one
   * for which it was borrowed. The reserve is asked, and given back to, without the lock, which its
   * owner may want in turn.
   *
   * Nobody is passed for ever: while an iteration is pending, or session constants wait for room,
   * no new iteration is given a lane.
   */
  private static final long GROWTH_BYTES = 1L << 20;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final LaneTable table;
  private final long capacityBytes;
  private final ParkedRegions parked = new ParkedRegions();
  private final List<EphemeralRegion> regions = new ArrayList<>();
  private final Map<LaneId, Lane> open = new HashMap<>();
  private final Map<String, LaneId> assigned = new HashMap<>();
  private final Map<String, Set<EphemeralRegion>> preferred = new HashMap<>();
  private long persistentBytes;
  private volatile long borrowedBytes; // written under the lock
  private volatile long largestLaneBytes; // what persistentBytes leave of all
  private volatile Reserve reserve = Reserve.NONE;
  private final long mostBorrowedBytes;
  private int borrowings;
  private long opened;
  private long grown;
  private long iterations;
  private int reserving;

  /** One open lane; guarded by the lock. */
  private static final class Lane {
    final LaneId id;
    final EphemeralRegion region;
    boolean busy;

    Lane(LaneId id, EphemeralRegion region) {
      this.id = id;
      this.region = region;
    }
  }

  /**
   * Reserves the lanes' addresses.
   *
   * @param capacityBytes what lanes and session constants may take together
   * @param maximumLanes lanes that may be open at once
   */
  public Lanes(Device device, DeviceMemory memory, long capacityBytes, int maximumLanes) {
    this(device, memory, capacityBytes, maximumLanes, 0);
  }

  /**
   * The same for lanes that can {@link #borrowFrom borrow}.
   *
   * @param mostBorrowedBytes what they may ever borrow
   */
  public Lanes(
      Device device,
      DeviceMemory memory,
      long capacityBytes,
      int maximumLanes,
      long mostBorrowedBytes) {
    this.table = new LaneTable(capacityBytes, maximumLanes);
    this.capacityBytes = capacityBytes;
    this.mostBorrowedBytes = mostBorrowedBytes;
    this.largestLaneBytes = capacityBytes;
    for (int i = 0; i < maximumLanes; i++) {
      EphemeralRegion region = device.ephemeral(capacityBytes + mostBorrowedBytes);
      region.limit(0);
      memory.add(region);
      regions.add(region);
      parked.add(region);
    }
  }

  /** What lanes and session constants may take of their own. */
  public long capacityBytes() {
    return capacityBytes;
  }

  /** What a lane could ever become, were all borrowed that can be. */
  public long mostBytes() {
    return capacityBytes + mostBorrowedBytes;
  }

  /** Says what lanes may borrow of, before any is entered. */
  public void borrowFrom(Reserve lender) {
    reserve = lender;
  }

  /** While it is open, what was borrowed is not given back, though no lane may need it yet. */
  public interface Borrowing extends AutoCloseable {
    @Override
    void close();
  }

  /** Borrows for a lane that is about to be entered; any thread closes it, after that. */
  public Borrowing borrowing() {
    lock.lock();
    try {
      borrowings++;
    } finally {
      lock.unlock();
    }
    return () -> {
      lock.lock();
      try {
        borrowings--;
      } finally {
        lock.unlock();
      }
      giveBackSpare();
    };
  }

  /**
   * Borrows what a lane of so many bytes lacks, if it were the only one, if the reserve lends it at
   * once; while a {@link #borrowing} is open.
   *
   * @return whether a lane can become as large now
   */
  public boolean borrow(long laneBytes) {
    long missing = laneBytes - largestLaneBytes;
    if (missing > 0) {
      lent(reserve.lend(missing));
    }
    return laneBytes <= largestLaneBytes;
  }

  /** Takes what the reserve has lent, in whole units. */
  public void lent(long bytes) {
    if (bytes > 0) {
      lock.lock();
      try {
        borrowed(borrowedBytes + bytes);
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }

  /** What a lane of so many bytes, were it the only one, has to borrow in all. */
  public long beyondOwnBytes(long laneBytes) {
    lock.lock();
    try {
      return Math.max(0, laneBytes - (capacityBytes - persistentBytes));
    } finally {
      lock.unlock();
    }
  }

  /** What is borrowed at present. */
  public long borrowedBytes() {
    return borrowedBytes;
  }

  private void borrowed(long bytes) {
    if (bytes > mostBorrowedBytes) {
      throw new IllegalStateException(
          "lanes were lent %d bytes, and may borrow %d".formatted(bytes, mostBorrowedBytes));
    }
    borrowedBytes = bytes;
    largestLaneBytes = capacityBytes + bytes - persistentBytes;
    // Parked regions are counted as free: they make room first where there is less from now on.
    parked.trimTo(table.headroomBytes() + capacityBytes + bytes - table.capacityBytes());
    table.capacityChanged(capacityBytes + bytes).forEach(this::act);
  }

  /** Gives back what no lane has; nobody is about to enter one for which it was borrowed. */
  private void giveBackSpare() {
    if (borrowedBytes == 0) {
      return; // As nearly always.
    }
    long spare = 0;
    lock.lock();
    try {
      if (borrowings == 0 && !table.hasPending()) {
        long unit = reserve.unitBytes();
        spare = Math.min(borrowedBytes, table.headroomBytes()) / unit * unit;
        if (spare > 0) {
          borrowed(borrowedBytes - spare);
        }
      }
    } finally {
      lock.unlock();
    }
    if (spare > 0) {
      reserve.giveBack(spare);
    }
  }

  /**
   * Enters a lane with room for an iteration: a new one, or one that is shared in turns.
   *
   * @param ephemeralBytes what the iteration is known to need; it may grow beyond it
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when it could not even run alone
   */
  public LaneLease enter(long ephemeralBytes) {
    return enter(ephemeralBytes, Set.of());
  }

  /**
   * Enters a lane as {@link #enter(long)} does; a new lane gets one of the regions preferred, such
   * as those that a session of the model is bound to, when one of them is free.
   */
  public LaneLease enter(long ephemeralBytes, Set<EphemeralRegion> preferredRegions) {
    return enter(ephemeralBytes, preferredRegions, () -> {});
  }

  /**
   * The same for a caller that others may wait for.
   *
   * @param beforeWaiting called, perhaps several times, before the caller waits; under this
   *     object's lock
   */
  public LaneLease enter(
      long ephemeralBytes, Set<EphemeralRegion> preferredRegions, Runnable beforeWaiting) {
    lock.lock();
    try {
      while (reserving > 0 || table.hasPending()) {
        beforeWaiting.run();
        changed.awaitUninterruptibly();
      }
      String job = "iteration " + iterations++;
      preferred.put(job, preferredRegions);
      Lane lane;
      try {
        act(table.arrive(new Job(job, 0, roomFor(ephemeralBytes, preferredRegions))));
        lane = awaitTurn(job, ephemeralBytes, beforeWaiting);
      } finally {
        preferred.remove(job);
      }
      return leased(lane, job, true);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Enters a new lane if there is room for one now; never blocks.
   *
   * @param ephemeralBytes what the iteration is known to need; the lane does not grow beyond it,
   *     but for what has been left in it
   * @return null when there is no room
   */
  public @Nullable LaneLease tryEnter(long ephemeralBytes) {
    lock.lock();
    try {
      if (!hasRoom(ephemeralBytes)) {
        return null;
      }
      String job = "iteration " + iterations++;
      act(table.arrive(new Job(job, 0, roomFor(ephemeralBytes, Set.of()))));
      // Where there is room a lane is opened, so nobody else is in it.
      Lane lane = Objects.requireNonNull(open.get(Objects.requireNonNull(assigned.get(job))));
      lane.busy = true;
      return leased(lane, job, false);
    } finally {
      lock.unlock();
    }
  }

  /** A lane that cannot have its memory after all is left at once. */
  private LaneLease leased(Lane lane, String job, boolean mayGrow) {
    boolean leased = false;
    try {
      long size = table.sizeOf(lane.id);
      if (lane.region.limitBytes() != size) {
        lane.region.limit(size);
      }
      lane.region.resetPeak();
      leased = true;
      return new LaneLease(
          lane.region,
          mayGrow ? bytes -> grow(lane, job, bytes) : bytes -> false,
          () -> leave(lane, job));
    } finally {
      if (!leased) {
        leave(lane, job);
      }
    }
  }

  /** The bytes asked for, or more where a parked region has more: by the invariant it is free. */
  private long roomFor(long ephemeralBytes, Set<EphemeralRegion> preferredRegions) {
    return parked.isEmpty()
        ? ephemeralBytes
        : Math.max(ephemeralBytes, parked.best(ephemeralBytes, preferredRegions).limitBytes());
  }

  private Lane awaitTurn(String job, long ephemeralBytes, Runnable beforeWaiting) {
    while (true) {
      LaneId id = assigned.get(job);
      if (id == null && ephemeralBytes > largestLaneBytes) {
        table.finish(job);
        changed.signalAll();
        throw new StatusException(
            Status.INSUFFICIENT_MEMORY,
            "a run needs %s of run-time memory; since it came, session constants have left %s of %s"
                .formatted(
                    new ByteSize(ephemeralBytes),
                    new ByteSize(largestLaneBytes),
                    new ByteSize(capacityBytes + borrowedBytes)));
      }
      if (id != null) {
        Lane lane = Objects.requireNonNull(open.get(id));
        if (!lane.busy) {
          lane.busy = true;
          return lane;
        }
      }
      beforeWaiting.run();
      changed.awaitUninterruptibly();
    }
  }

  private void leave(Lane lane, String job) {
    lock.lock();
    try {
      lane.busy = false;
      assigned.remove(job);
      Departure departure = table.finish(job);
      departure.closed().ifPresent(id -> parked.add(close(id)));
      departure.admitted().forEach(this::act);
      trimParked();
    } finally {
      changed.signalAll();
      lock.unlock();
    }
    giveBackSpare();
  }

  /** Grows within what there is, or else by what can be borrowed at once. */
  private boolean grow(Lane lane, String job, long bytes) {
    if (growWithin(lane, job, bytes)) {
      return true;
    }
    try (Borrowing _ = borrowing()) {
      lent(reserve.lend(missingFor(lane, bytes)));
      return growWithin(lane, job, bytes);
    }
  }

  private long missingFor(Lane lane, long bytes) {
    lock.lock();
    try {
      long limit = lane.region.limitBytes();
      long least = EphemeralRegion.align(lane.region.peakBytes() + bytes);
      return Math.max(1, least - limit - table.headroomBytes());
    } finally {
      lock.unlock();
    }
  }

  private boolean growWithin(Lane lane, String job, long bytes) {
    lock.lock();
    try {
      long limit = lane.region.limitBytes();
      long least = Math.max(limit + 1, EphemeralRegion.align(lane.region.peakBytes() + bytes));
      long wanted = Math.max(least, limit + Math.max(GROWTH_BYTES, limit / 4));
      if (!table.grow(job, wanted) && !table.grow(job, least)) {
        return false;
      }
      trimParked();
      lane.region.limit(table.sizeOf(lane.id));
      grown++;
      return true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Takes working memory for something that outlives iterations; waits for lanes that hold it.
   *
   * @return false when there is no room even without lanes
   */
  public boolean reservePersistent(long bytes) {
    lock.lock();
    reserving++;
    try {
      while (bytes <= capacityBytes - persistentBytes && bytes > table.headroomBytes()) {
        changed.awaitUninterruptibly();
      }
      if (bytes > capacityBytes - persistentBytes) {
        return false;
      }
      persistent(persistentBytes + bytes);
      table.persistentChanged(persistentBytes).forEach(this::act);
      trimParked();
      return true;
    } finally {
      reserving--;
      changed.signalAll();
      lock.unlock();
    }
  }

  @Override
  public boolean tryReservePersistent(long bytes) {
    lock.lock();
    try {
      if (bytes > Math.min(capacityBytes - persistentBytes, table.headroomBytes())) {
        return false;
      }
      persistent(persistentBytes + bytes);
      table.persistentChanged(persistentBytes).forEach(this::act);
      trimParked();
      return true;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void releasePersistent(long bytes) {
    lock.lock();
    try {
      persistent(persistentBytes - bytes);
      table.persistentChanged(persistentBytes).forEach(this::act);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** What a lane may become when it is the only one; takes no lock, others ask under theirs. */
  public long largestLaneBytes() {
    return largestLaneBytes;
  }

  private void persistent(long bytes) {
    persistentBytes = bytes;
    largestLaneBytes = capacityBytes + borrowedBytes - bytes;
  }

  /** Whether a lane of so many bytes could be opened now, beside those that are open. */
  public boolean hasRoom(long ephemeralBytes) {
    lock.lock();
    try {
      return reserving == 0
          && !table.hasPending()
          && !parked.isEmpty()
          && ephemeralBytes <= table.headroomBytes();
    } finally {
      lock.unlock();
    }
  }

  /** What nobody has reserved and no open lane takes, of what is not borrowed. */
  public long freeBytes() {
    lock.lock();
    try {
      return Math.min(capacityBytes - persistentBytes, table.headroomBytes());
    } finally {
      lock.unlock();
    }
  }

  /** Memory of the lanes' regions, open or parked: what they may touch at present. */
  public long laneBytes() {
    lock.lock();
    try {
      return regions.stream().mapToLong(EphemeralRegion::limitBytes).sum();
    } finally {
      lock.unlock();
    }
  }

  /** What the lanes are like now. */
  public LanesOverview overview() {
    lock.lock();
    try {
      return new LanesOverview(
          open.size(),
          (int) open.values().stream().filter(lane -> lane.busy).count(),
          regions.stream().map(EphemeralRegion::limitBytes).toList(),
          borrowedBytes,
          opened,
          grown,
          parked.trimmed());
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
      table.checkSafety();
      requireRoomForParked();
      if (table.capacityBytes() != capacityBytes + borrowedBytes
          || persistentBytes > capacityBytes) {
        throw new IllegalStateException(
            "of %d bytes and %d borrowed the table has %d, persistent are %d"
                .formatted(capacityBytes, borrowedBytes, table.capacityBytes(), persistentBytes));
      }
    } finally {
      lock.unlock();
    }
  }

  /** Gives the regions back; no lane is in use. */
  @Override
  public void close() {
    regions.forEach(EphemeralRegion::close);
  }

  private void act(Decision decision) {
    if (decision instanceof Opened opened) {
      open.put(opened.lane(), new Lane(opened.lane(), regionFor(opened.job())));
      this.opened++;
    }
    if (decision instanceof Assigned found) {
      assigned.put(found.job().id(), found.lane());
    }
    trimParked();
  }

  private EphemeralRegion regionFor(Job job) {
    return parked.take(job.ephemeralBytes(), preferred.getOrDefault(job.id(), Set.of()));
  }

  private EphemeralRegion close(LaneId id) {
    return Objects.requireNonNull(open.remove(id)).region;
  }

  /** Keeps the safety condition: called after every change of what is taken. */
  private void trimParked() {
    parked.trimTo(table.headroomBytes());
    requireRoomForParked();
  }

  private void requireRoomForParked() {
    if (parked.bytes() > table.headroomBytes()) {
      throw new IllegalStateException(
          "parked lanes hold "
              + parked.bytes()
              + ", free are "
              + table.headroomBytes()
              + " beside "
              + table.lanes());
    }
  }
}
