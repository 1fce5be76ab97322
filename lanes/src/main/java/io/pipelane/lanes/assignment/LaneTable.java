package io.pipelane.lanes.assignment;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.assignment.Decision.Assigned;
import io.pipelane.lanes.assignment.Decision.Joined;
import io.pipelane.lanes.assignment.Decision.NotFound;
import io.pipelane.lanes.assignment.Decision.Opened;
import io.pipelane.lanes.assignment.Decision.Replaced;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Salus' assignment of jobs to lanes (Yu and Chowdhury, MLSys 2020, section 3.3.2 and Algorithm 1;
 * in the event-driven form of arXiv 1902.04610). Not safe for several threads.
 *
 * <p>After every call the safety condition holds: <i>persistent + Σ lanes ≤ capacity</i>.
 * Persistent is what the jobs with a lane brought and what {@link #persistentChanged} said besides.
 * A lane is at least as large as the ephemeral memory of each of its jobs.
 */
public final class LaneTable {
  /*
   * Four things differ from the paper's listing. Joining a lane is checked against the safety
   * condition, which the listing leaves out although the job's persistent memory counts. A lane is
   * replaced only by a larger one, as its other jobs still run in it; a smaller one would be a case
   * for joining. Of equal lanes the one with fewest jobs is joined, which the listing leaves open:
   * many equal jobs would all go to one otherwise. And lanes are not moved: each has an address
   * range of its own, so they leave no gaps between them.
   *
   * A lane keeps its size until its last job has left. An arrival never makes room, so pending jobs
   * are tried again only when a job leaves or persistent memory shrinks. They are tried in the
   * order of their coming, and one that does not fit does not hold up those behind it.
   */

  private static final class Lane {
    final LaneId id;
    long bytes;
    int jobs;
    boolean withheld;

    Lane(LaneId id) {
      this.id = id;
    }
  }

  /** A job of the table. */
  private static final class Entry {
    Job job;

    /** Null while it is pending. */
    @Nullable Lane lane;

    Entry(Job job) {
      this.job = job;
    }
  }

  private long capacityBytes;
  private final int maximumLanes;
  private final List<Lane> lanes = new ArrayList<>();
  private final Map<String, Entry> jobs = new HashMap<>();
  private final Set<Entry> pending = new LinkedHashSet<>();
  private long otherPersistentBytes;
  private long jobPersistentBytes;
  private long laneBytes;
  private long nextLane;

  /**
   * Makes an empty table.
   *
   * @param capacityBytes what persistent memory and lanes may take together
   * @param maximumLanes lanes that may be open at once
   */
  public LaneTable(long capacityBytes, int maximumLanes) {
    if (capacityBytes < 0 || maximumLanes < 1) {
      throw new IllegalArgumentException(
          "a lane table needs a capacity and a lane: %d bytes, %d lanes"
              .formatted(capacityBytes, maximumLanes));
    }
    this.capacityBytes = capacityBytes;
    this.maximumLanes = maximumLanes;
  }

  /**
   * Finds a lane for a new job, or keeps it pending.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when the job could not even run
   *     alone
   * @throws IllegalArgumentException when a job of this id is here already
   */
  public Decision arrive(Job job) {
    if (job.persistentBytes() > capacityBytes - job.ephemeralBytes()) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "%s needs %d bytes (%d persistent, %d ephemeral), the device has %d; raise its memory"
              .formatted(
                  job.id(),
                  saturatedSum(job.persistentBytes(), job.ephemeralBytes()),
                  job.persistentBytes(),
                  job.ephemeralBytes(),
                  capacityBytes));
    }
    Entry entry = new Entry(job);
    if (jobs.putIfAbsent(job.id(), entry) != null) {
      throw new IllegalArgumentException("job " + job.id() + " is here already");
    }
    Assigned found = assign(entry);
    if (found == null) {
      pending.add(entry);
      return new NotFound(job);
    }
    return found;
  }

  /**
   * Lets a job go, from its lane or from among the pending.
   *
   * @throws IllegalArgumentException when there is no such job
   */
  public Departure finish(String id) {
    Entry entry = jobs.remove(id);
    if (entry == null) {
      throw new IllegalArgumentException("no job " + id + " is here");
    }
    Lane lane = entry.lane;
    if (lane == null) {
      pending.remove(entry);
      return new Departure(Optional.empty(), List.of());
    }
    jobPersistentBytes -= entry.job.persistentBytes();
    lane.jobs--;
    Optional<LaneId> closed = Optional.empty();
    if (lane.jobs == 0) {
      lanes.remove(lane);
      laneBytes -= lane.bytes;
      closed = Optional.of(lane.id);
    }
    return new Departure(closed, assignPending());
  }

  /**
   * Has no further job join an open lane: nobody knows when those that are there will leave it.
   *
   * @throws IllegalArgumentException when it is not open
   */
  public void withhold(LaneId id) {
    lane(id).withheld = true;
  }

  /**
   * Tells how much persistent memory there is that no job of this table brought, such as resident
   * weights.
   *
   * @return pending jobs that have a lane now
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when the safety condition would not
   *     hold; nothing is changed
   */
  public List<Assigned> persistentChanged(long totalBytes) {
    if (totalBytes < 0) {
      throw new IllegalArgumentException("persistent memory cannot be negative: " + totalBytes);
    }
    long limit = otherPersistentBytes + headroomBytes();
    if (totalBytes > limit) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "persistent memory of %d bytes leaves no room for the lanes; at most %d are free for it"
              .formatted(totalBytes, limit));
    }
    boolean shrunk = totalBytes < otherPersistentBytes;
    otherPersistentBytes = totalBytes;
    return shrunk ? assignPending() : List.of();
  }

  /** What persistent memory and lanes may take together. */
  public long capacityBytes() {
    return capacityBytes;
  }

  /**
   * Tells how much memory there is from now on.
   *
   * @return pending jobs that have a lane now
   * @throws IllegalArgumentException when more than that is taken; nothing is changed
   */
  public List<Assigned> capacityChanged(long bytes) {
    long taken = capacityBytes - headroomBytes();
    if (bytes < taken) {
      throw new IllegalArgumentException(
          "a capacity of %d bytes is less than the %d that are taken".formatted(bytes, taken));
    }
    boolean grown = bytes > capacityBytes;
    capacityBytes = bytes;
    return grown ? assignPending() : List.of();
  }

  /**
   * Raises the ephemeral memory of a job whose prediction was too low, and its lane with it.
   *
   * @return false, and nothing is changed, when the safety condition would not hold
   * @throws IllegalArgumentException when the job has no lane
   */
  public boolean grow(String id, long ephemeralBytes) {
    Entry entry = jobs.get(id);
    Lane lane = entry == null ? null : entry.lane;
    if (entry == null || lane == null) {
      throw new IllegalArgumentException("job " + id + " has no lane");
    }
    long more = Math.max(0, ephemeralBytes - lane.bytes);
    if (more > headroomBytes()) {
      return false;
    }
    Job job = entry.job;
    entry.job = new Job(id, job.persistentBytes(), Math.max(ephemeralBytes, job.ephemeralBytes()));
    lane.bytes += more;
    laneBytes += more;
    return true;
  }

  /** What neither persistent memory nor a lane takes. */
  public long headroomBytes() {
    return capacityBytes - otherPersistentBytes - jobPersistentBytes - laneBytes;
  }

  /** The lane of a job; empty while it is pending or when it is not here. */
  public Optional<LaneId> laneOf(String id) {
    return Optional.ofNullable(jobs.get(id)).map(entry -> entry.lane).map(lane -> lane.id);
  }

  /** Open lanes with their sizes in bytes, in the order of their opening. */
  public Map<LaneId, Long> lanes() {
    Map<LaneId, Long> sizes = new LinkedHashMap<>();
    lanes.forEach(lane -> sizes.put(lane.id, lane.bytes));
    return sizes;
  }

  /**
   * The size of an open lane in bytes.
   *
   * @throws IllegalArgumentException when it is not open
   */
  public long sizeOf(LaneId id) {
    return lane(id).bytes;
  }

  private Lane lane(LaneId id) {
    for (Lane lane : lanes) {
      if (lane.id.equals(id)) {
        return lane;
      }
    }
    throw new IllegalArgumentException(id + " is not open");
  }

  /** Jobs without a lane, in the order of their coming. */
  public List<Job> pending() {
    return pending.stream().map(entry -> entry.job).toList();
  }

  /** Whether there are such. */
  public boolean hasPending() {
    return !pending.isEmpty();
  }

  /**
   * Counts everything anew and checks the safety condition; cheap enough to be called after every
   * change.
   *
   * @throws IllegalStateException when it does not hold, or the running sums are wrong
   */
  public void checkSafety() {
    long persistent = otherPersistentBytes;
    int assigned = 0;
    for (Entry entry : jobs.values()) {
      Lane lane = entry.lane;
      if (lane != null) {
        assigned++;
        persistent += entry.job.persistentBytes();
        require(entry.job.ephemeralBytes() <= lane.bytes, "a job exceeds its lane");
      }
    }
    long sizes = lanes.stream().mapToLong(lane -> lane.bytes).sum();
    require(persistent + sizes <= capacityBytes, "memory is promised twice");
    require(capacityBytes - persistent - sizes == headroomBytes(), "the sums are wrong");
    require(lanes.size() <= maximumLanes, "too many lanes are open");
    require(lanes.stream().allMatch(lane -> lane.jobs > 0), "a lane without jobs is open");
    int inLanes = lanes.stream().mapToInt(lane -> lane.jobs).sum();
    require(inLanes == assigned, "jobs of lanes are miscounted");
    require(assigned + pending.size() == jobs.size(), "a job is lost");
  }

  private void require(boolean condition, String otherwise) {
    if (!condition) {
      throw new IllegalStateException(
          "%s: capacity %d, persistent %d and %d, lanes %s"
              .formatted(
                  otherwise, capacityBytes, otherPersistentBytes, jobPersistentBytes, lanes()));
    }
  }

  private List<Assigned> assignPending() {
    if (pending.isEmpty()) {
      return List.of(); // As nearly always.
    }
    List<Assigned> admitted = new ArrayList<>();
    for (Iterator<Entry> all = pending.iterator(); all.hasNext(); ) {
      Assigned found = assign(all.next());
      if (found != null) {
        all.remove();
        admitted.add(found);
      }
    }
    return admitted;
  }

  /** Algorithm 1's FINDLANE, and its outcome put into effect; null when nothing is found. */
  private @Nullable Assigned assign(Entry entry) {
    Job job = entry.job;
    long room = headroomBytes() - job.persistentBytes();
    if (lanes.size() < maximumLanes && job.ephemeralBytes() <= room) {
      Lane lane = new Lane(new LaneId(nextLane++));
      lanes.add(lane);
      enter(entry, lane, job.ephemeralBytes());
      return new Opened(job, lane.id);
    }
    Lane best = null;
    Lane smallest = null;
    for (Lane lane : lanes) {
      if (lane.withheld) {
        continue;
      }
      if (lane.bytes >= job.ephemeralBytes()) {
        best = best == null || isBetter(lane, best) ? lane : best;
      } else if (job.ephemeralBytes() - lane.bytes <= room) {
        smallest = smallest == null || lane.bytes < smallest.bytes ? lane : smallest;
      }
    }
    if (best != null && room >= 0) {
      enter(entry, best, best.bytes);
      return new Joined(job, best.id);
    }
    if (smallest != null) {
      enter(entry, smallest, job.ephemeralBytes());
      return new Replaced(job, smallest.id);
    }
    return null;
  }

  /** Whether a lane that is large enough is a better match than another one. */
  private static boolean isBetter(Lane lane, Lane other) {
    return lane.bytes < other.bytes || (lane.bytes == other.bytes && lane.jobs < other.jobs);
  }

  private void enter(Entry entry, Lane lane, long bytes) {
    laneBytes += bytes - lane.bytes;
    lane.bytes = bytes;
    lane.jobs++;
    jobPersistentBytes += entry.job.persistentBytes();
    entry.lane = lane;
  }

  private static long saturatedSum(long a, long b) {
    return a > Long.MAX_VALUE - b ? Long.MAX_VALUE : a + b;
  }
}
