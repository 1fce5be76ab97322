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
import java.util.Collections;
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
   *   persistent + sum of open lanes + sum of parked limits <= capacity.
   *
   * Nobody is passed for ever: while an iteration is pending, or session constants wait for room,
   * no new iteration is given a lane.
   */
  private static final long GROWTH_BYTES = 1L << 20;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final LaneTable table;
  private final long capacityBytes;
  private final List<EphemeralRegion> parked = new ArrayList<>();
  private final List<EphemeralRegion> regions = new ArrayList<>();
  private final Map<LaneId, Lane> open = new HashMap<>();
  private final Map<String, LaneId> assigned = new HashMap<>();
  private final Map<String, Set<EphemeralRegion>> preferred = new HashMap<>();
  private long persistentBytes;
  private volatile long largestLaneBytes; // what persistentBytes leave
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
    this.table = new LaneTable(capacityBytes, maximumLanes);
    this.capacityBytes = capacityBytes;
    this.largestLaneBytes = capacityBytes;
    for (int i = 0; i < maximumLanes; i++) {
      EphemeralRegion region = device.ephemeral(capacityBytes);
      region.limit(0);
      memory.add(region);
      regions.add(region);
      parked.add(region);
    }
  }

  public long capacityBytes() {
    return capacityBytes;
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
        : Math.max(ephemeralBytes, bestParked(ephemeralBytes, preferredRegions).limitBytes());
  }

  private Lane awaitTurn(String job, long ephemeralBytes, Runnable beforeWaiting) {
    while (true) {
      LaneId id = assigned.get(job);
      if (id == null && ephemeralBytes > capacityBytes - persistentBytes) {
        table.finish(job);
        changed.signalAll();
        throw new StatusException(
            Status.INSUFFICIENT_MEMORY,
            "a run needs %s of run-time memory; since it came, session constants have left %s of %s"
                .formatted(
                    new ByteSize(ephemeralBytes),
                    new ByteSize(capacityBytes - persistentBytes),
                    new ByteSize(capacityBytes)));
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
  }

  private boolean grow(Lane lane, String job, long bytes) {
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
      while (bytes > table.headroomBytes()) {
        if (bytes > capacityBytes - persistentBytes) {
          return false;
        }
        changed.awaitUninterruptibly();
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
      if (bytes > table.headroomBytes()) {
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
    largestLaneBytes = capacityBytes - bytes;
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

  /** What nobody has reserved and no open lane takes. */
  public long freeBytes() {
    lock.lock();
    try {
      return table.headroomBytes();
    } finally {
      lock.unlock();
    }
  }

  /** Lanes that a run is in at present. */
  public int openLanes() {
    lock.lock();
    try {
      return open.size();
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
      open.put(opened.lane(), new Lane(opened.lane(), takeParked(opened.job())));
    }
    if (decision instanceof Assigned found) {
      assigned.put(found.job().id(), found.lane());
    }
    trimParked();
  }

  private EphemeralRegion takeParked(Job job) {
    EphemeralRegion region =
        bestParked(job.ephemeralBytes(), preferred.getOrDefault(job.id(), Set.of()));
    parked.remove(region);
    if (region.limitBytes() > job.ephemeralBytes()) {
      region.limit(job.ephemeralBytes());
    }
    return region;
  }

  /** Of the preferred, or else of all: the smallest that is large enough, or else the largest. */
  private EphemeralRegion bestParked(long bytes, Set<EphemeralRegion> preferredRegions) {
    List<EphemeralRegion> choice = parked;
    if (!preferredRegions.isEmpty() && !Collections.disjoint(parked, preferredRegions)) {
      choice = new ArrayList<>(parked);
      choice.retainAll(preferredRegions);
    }
    EphemeralRegion best = choice.getFirst();
    for (EphemeralRegion region : choice) {
      long limit = region.limitBytes();
      boolean fits = limit >= bytes;
      boolean bestFits = best.limitBytes() >= bytes;
      if (fits == bestFits ? (limit < best.limitBytes()) == fits : fits) {
        best = region;
      }
    }
    return best;
  }

  private EphemeralRegion close(LaneId id) {
    return Objects.requireNonNull(open.remove(id)).region;
  }

  private long parkedBytes() {
    long bytes = 0;
    for (EphemeralRegion region : parked) {
      bytes += region.limitBytes();
    }
    return bytes;
  }

  /** Keeps the safety condition: called after every change of what is taken. */
  private void trimParked() {
    for (EphemeralRegion region : parked) {
      if (parkedBytes() <= table.headroomBytes()) {
        break;
      }
      region.limit(0);
    }
    requireRoomForParked();
  }

  private void requireRoomForParked() {
    if (parkedBytes() > table.headroomBytes()) {
      throw new IllegalStateException(
          "parked lanes hold "
              + parkedBytes()
              + ", free are "
              + table.headroomBytes()
              + " beside "
              + table.lanes());
    }
  }
}
