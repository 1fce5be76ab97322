package io.pipelane.lanes.execution;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.assignment.Decision;
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
import org.jspecify.annotations.Nullable;

/**
 * The bytes of working memory and the regions that lanes are made of: which iteration is in which
 * lane, and what session constants and a reserve leave for lanes. Waits for nothing. Guarded by the
 * lanes' lock, but where it says so.
 */
final class LaneSpace implements AutoCloseable {
  /*
   * A job of the lane table is one iteration; its persistent memory (weights) is not counted here,
   * as weights have a budget of their own, and session constants are told to the table as a sum.
   *
   * A lane lives as long as iterations run or wait in it. Its region outlives it, parked, so that
   * the next lane finds memory that has been touched; parked bytes are free for anybody: they are
   * trimmed as soon as the room is needed. After every change
   *
   *   persistent + sum of open lanes + sum of parked limits <= capacity + borrowed.
   *
   * What is borrowed is for lanes alone, persistent <= capacity: so it is all to be had once the
   * lanes have been left.
   */
  private static final long GROWTH_BYTES = 1L << 20;

  private final LaneTable table;
  private final long capacityBytes;
  private final long mostBorrowedBytes;
  private final ParkedRegions parked = new ParkedRegions();
  private final List<EphemeralRegion> regions = new ArrayList<>();
  private final Map<LaneId, Lane> open = new HashMap<>();
  private final Map<String, Set<EphemeralRegion>> preferred = new HashMap<>();
  private long persistentBytes;
  private volatile long borrowedBytes; // written under the lock
  private volatile long largestLaneBytes; // what persistentBytes leave of all
  private long opened;
  private long grown;

  /** One open lane. */
  static final class Lane {
    final EphemeralRegion region;
    private final LaneId id;
    boolean busy;
    private String stuck = ""; // Why, while it is.

    private Lane(LaneId id, EphemeralRegion region) {
      this.id = id;
      this.region = region;
    }

    /** Whether nobody knows when the iteration that is there will leave it. */
    boolean isStuck() {
      return !stuck.isEmpty();
    }

    /** The iteration that was there is there no longer. */
    void left() {
      busy = false;
      stuck = "";
    }
  }

  /** Reserves the lanes' addresses; see {@link Lanes}. */
  LaneSpace(
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

  /** What lanes and session constants may take of their own; for any thread. */
  long capacityBytes() {
    return capacityBytes;
  }

  /** What a lane could ever become, were all borrowed that can be; for any thread. */
  long mostBytes() {
    return capacityBytes + mostBorrowedBytes;
  }

  /** What is borrowed at present; for any thread. */
  long borrowedBytes() {
    return borrowedBytes;
  }

  /** What a lane may become when it is the only one; for any thread. */
  long largestLaneBytes() {
    return largestLaneBytes;
  }

  /** What session constants could take besides, were there no lanes. */
  long mostPersistentBytes() {
    return capacityBytes - persistentBytes;
  }

  /** What neither session constants nor open lanes take, of all. */
  long headroomBytes() {
    return table.headroomBytes();
  }

  /** The same of what is not borrowed. */
  long freeBytes() {
    return Math.min(mostPersistentBytes(), table.headroomBytes());
  }

  /** Whether iterations wait for a lane. */
  boolean hasPending() {
    return table.hasPending();
  }

  /** Whether a lane of so many bytes could be opened now, and nobody waits for one. */
  boolean hasRoom(long ephemeralBytes) {
    return !table.hasPending() && !parked.isEmpty() && ephemeralBytes <= table.headroomBytes();
  }

  /** Whether a lane of so many bytes, for which there is room, has parked memory be given back. */
  boolean takesOfParked(long ephemeralBytes, boolean exactly) {
    if (parked.isEmpty()) {
      return false;
    }
    long lane = exactly ? ephemeralBytes : roomFor(ephemeralBytes, Set.of());
    long own = parked.within(lane, Set.of()).limitBytes();
    return own > lane || parked.bytes() - own > table.headroomBytes() - lane;
  }

  /** Whether nobody has a region, nor waits for it. */
  boolean isParked(EphemeralRegion region) {
    return parked.has(region);
  }

  /** All regions, open or parked; for any thread. */
  List<EphemeralRegion> regions() {
    return Collections.unmodifiableList(regions);
  }

  /** Memory of all regions, open or parked. */
  long regionBytes() {
    return regions.stream().mapToLong(EphemeralRegion::limitBytes).sum();
  }

  /** So much is borrowed from now on; as much is free where it becomes less. */
  void borrowed(long bytes) {
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

  /** Session constants take so much more, for which there is room, or less. */
  void addPersistent(long bytes) {
    persistentBytes += bytes;
    largestLaneBytes = capacityBytes + borrowedBytes - persistentBytes;
    table.persistentChanged(persistentBytes).forEach(this::act);
    trimParked();
  }

  /**
   * Finds a lane for an iteration, or has it wait for one.
   *
   * @param exactly whether a new lane has no more than that, though a parked region has
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when it could not even run alone
   */
  void arrive(
      String iteration,
      long ephemeralBytes,
      boolean exactly,
      Set<EphemeralRegion> preferredRegions) {
    long room = exactly ? ephemeralBytes : roomFor(ephemeralBytes, preferredRegions);
    if (!preferredRegions.isEmpty()) {
      preferred.put(iteration, preferredRegions);
    }
    boolean arrived = false;
    try {
      act(table.arrive(new Job(iteration, 0, room)));
      arrived = true;
    } finally {
      if (!arrived) {
        preferred.remove(iteration);
      }
    }
  }

  /** The bytes asked for, or more where a parked region has more: by the invariant it is free. */
  private long roomFor(long ephemeralBytes, Set<EphemeralRegion> preferredRegions) {
    return parked.isEmpty()
        ? ephemeralBytes
        : Math.max(ephemeralBytes, parked.best(ephemeralBytes, preferredRegions).limitBytes());
  }

  /** The lane that an iteration has, perhaps with others; null while it waits for one. */
  @Nullable Lane laneOf(String iteration) {
    return table.laneOf(iteration).map(id -> Objects.requireNonNull(open.get(id))).orElse(null);
  }

  /** The iteration that is in a lane does not end, for a reason; no other comes to the lane. */
  void stuck(Lane lane, String reason) {
    lane.stuck = reason;
    table.withhold(lane.id);
  }

  /**
   * What of the borrowed bytes could not go back though all lanes were left that will be, as far as
   * anybody knows.
   */
  long keptBytes() {
    long stuck =
        open.values().stream().filter(Lane::isStuck).mapToLong(lane -> table.sizeOf(lane.id)).sum();
    return Math.clamp(persistentBytes + stuck - capacityBytes, 0, borrowedBytes);
  }

  /** Why no lane that is open will be left, as far as anybody knows; empty where one will be. */
  String standstill() {
    return open.values().stream().allMatch(Lane::isStuck)
        ? open.values().stream().map(lane -> lane.stuck).findFirst().orElse("")
        : "";
  }

  /**
   * An iteration has gone: its lane is closed if it was the last there, and others may have one.
   */
  void finish(String iteration) {
    preferred.remove(iteration);
    Departure departure = table.finish(iteration);
    departure.closed().ifPresent(this::close);
    departure.admitted().forEach(this::act);
    trimParked();
  }

  private void close(LaneId id) {
    Lane closed = Objects.requireNonNull(open.remove(id));
    parked.add(closed.region);
  }

  private void act(Decision decision) {
    if (decision instanceof Opened open) {
      this.open.put(open.lane(), new Lane(open.lane(), regionFor(open.job())));
      opened++;
    }
    trimParked();
  }

  private EphemeralRegion regionFor(Job job) {
    return parked.take(job.ephemeralBytes(), preferred.getOrDefault(job.id(), Set.of()));
  }

  /** Gives a lane's region the memory that is the lane's. */
  void limit(Lane lane) {
    long size = table.sizeOf(lane.id);
    if (lane.region.limitBytes() != size) {
      lane.region.limit(size);
    }
  }

  /** Makes an iteration's lane larger for one more allocation; false when there is no room. */
  boolean grow(Lane lane, String iteration, long bytes) {
    long limit = lane.region.limitBytes();
    long least = Math.max(limit + 1, leastFor(lane, bytes));
    long wanted = Math.max(least, limit + Math.max(GROWTH_BYTES, limit / 4));
    if (!table.grow(iteration, wanted) && !table.grow(iteration, least)) {
      return false;
    }
    trimParked();
    lane.region.limit(table.sizeOf(lane.id));
    grown++;
    return true;
  }

  /** What has to be borrowed for that at least. */
  long missingFor(Lane lane, long bytes) {
    long more = leastFor(lane, bytes) - lane.region.limitBytes();
    return Math.max(1, more - table.headroomBytes());
  }

  /** More than anybody can have where the lane's range is too small for it. */
  private static long leastFor(Lane lane, long bytes) {
    long peak = lane.region.peakBytes();
    return bytes > lane.region.maximumBytes() - peak
        ? Long.MAX_VALUE
        : EphemeralRegion.align(peak + bytes);
  }

  /** What the lanes are like now. */
  LanesOverview overview() {
    return new LanesOverview(
        open.size(),
        (int) open.values().stream().filter(lane -> lane.busy && !lane.isStuck()).count(),
        (int) open.values().stream().filter(Lane::isStuck).count(),
        regions.stream().map(EphemeralRegion::limitBytes).toList(),
        opened,
        grown,
        parked.trimmed());
  }

  /**
   * Checks the safety condition, parked regions included.
   *
   * @throws IllegalStateException when it does not hold
   */
  void checkSafety() {
    table.checkSafety();
    requireRoomForParked();
    if (table.capacityBytes() != capacityBytes + borrowedBytes || persistentBytes > capacityBytes) {
      throw new IllegalStateException(
          "of %d bytes and %d borrowed the table has %d, persistent are %d"
              .formatted(capacityBytes, borrowedBytes, table.capacityBytes(), persistentBytes));
    }
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

  /** Gives the regions back; no lane is open. */
  @Override
  public void close() {
    regions.forEach(EphemeralRegion::close);
  }
}
