package io.pipelane.switcher.jobs;

import io.pipelane.lanes.assignment.Decision;
import io.pipelane.lanes.assignment.Decision.Assigned;
import io.pipelane.lanes.assignment.Job;
import io.pipelane.lanes.assignment.LaneId;
import io.pipelane.lanes.assignment.LaneTable;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Who has memory on the simulated device, and in which lane: the server's lane table, checked after
 * each change.
 */
final class SimulatedLanes {
  private final LaneTable table;
  private final long capacityBytes;
  private final Map<String, Progress> holders = new TreeMap<>();
  private long mostBytes;
  private int mostLanes;

  SimulatedLanes(long capacityBytes, int lanes) {
    this.capacityBytes = capacityBytes;
    this.table = new LaneTable(capacityBytes, lanes);
  }

  /** Whether a job could run alone. */
  boolean fitsAlone(SimulatedJob job) {
    return job.persistentBytes() <= capacityBytes - job.ephemeralBytes();
  }

  /** Gives a job a lane if there is room, or keeps it in mind until there is. */
  Optional<LaneId> arrive(Progress job) {
    SimulatedJob wanted = job.job();
    Decision decision =
        table.arrive(new Job(wanted.id(), wanted.persistentBytes(), wanted.ephemeralBytes()));
    holders.put(wanted.id(), job);
    check();
    return decision instanceof Assigned assigned ? Optional.of(assigned.lane()) : Optional.empty();
  }

  boolean holds(Progress job) {
    return holders.containsKey(job.job().id());
  }

  LaneId laneOf(Progress job) {
    return table.laneOf(job.job().id()).orElseThrow();
  }

  /** Takes everything from a job; those that had waited for it and have a lane now. */
  List<Assigned> leave(Progress job) {
    holders.remove(job.job().id());
    List<Assigned> admitted = table.finish(job.job().id()).admitted();
    check();
    return admitted;
  }

  /**
   * Gives a job a lane, though others that do not run have to leave for it: those first that have
   * most left to do.
   *
   * @param job one that could run alone, while nothing runs
   */
  void makeRoom(Progress job) {
    Optional<LaneId> lane = arrive(job);
    while (lane.isEmpty()) {
      Progress last =
          holders.values().stream()
              .filter(other -> other != job)
              .max(Comparator.comparingLong(Progress::remainingNanos))
              .orElseThrow();
      leave(last);
      lane = table.laneOf(job.job().id());
    }
  }

  /** Open lanes, the oldest first. */
  List<LaneId> lanes() {
    return List.copyOf(table.lanes().keySet());
  }

  long mostBytes() {
    return mostBytes;
  }

  int mostLanes() {
    return mostLanes;
  }

  private void check() {
    table.checkSafety();
    mostBytes = Math.max(mostBytes, capacityBytes - table.headroomBytes());
    mostLanes = Math.max(mostLanes, table.lanes().size());
  }
}
