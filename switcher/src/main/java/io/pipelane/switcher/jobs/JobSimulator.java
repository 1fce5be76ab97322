package io.pipelane.switcher.jobs;

import io.pipelane.lanes.assignment.Decision.Assigned;
import io.pipelane.lanes.assignment.LaneId;
import io.pipelane.switcher.jobs.RunningIterations.Ended;
import io.pipelane.switcher.schedule.simulator.IterationLine;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A simulator of whole jobs on one device under a policy, in no time: Salus' experiments (Yu and
 * Chowdhury, MLSys 2020, section 5). Lanes are assigned by the server's {@link
 * io.pipelane.lanes.assignment.LaneTable}, iterations are ordered by its policies, and both decide
 * when a job comes or ends and at the boundaries of iterations. The same jobs have the same history
 * each time. Belongs to one thread, and simulates once.
 */
public final class JobSimulator {
  /*
   * Each lane has a line of iterations of its own, and runs one at a time. Where jobs are admitted
   * when they come, a job's iterations are in the line of the lane that the table gave it.
   *
   * Where they are admitted when their turn comes, there is one line, and all jobs are in it from
   * their coming. The one whose turn it is enters the table then. Nothing runs at that moment, so
   * all others could be sent away for it. Those sent away load again at their next turn.
   */
  private static final LaneId THE_LINE = new LaneId(-1);

  private final JobRules rules;
  private final SimulatedLanes memory;
  private final RunningIterations running = new RunningIterations();
  private final Map<LaneId, IterationLine> lines = new HashMap<>();
  private final Map<LaneId, Progress> previous = new HashMap<>();
  private final Map<String, Progress> jobs = new HashMap<>();
  private final IntervalLog intervals = new IntervalLog();
  private final List<JobRecord> records = new ArrayList<>();
  private final List<SimulatedJob> refused = new ArrayList<>();

  /** An empty device. */
  public JobSimulator(JobRules rules) {
    this.rules = rules;
    this.memory =
        new SimulatedLanes(rules.capacityBytes(), rules.admitsOnArrival() ? rules.lanes() : 1);
  }

  /**
   * Runs jobs to their ends.
   *
   * @param wanted in any order, with ids of their own
   */
  public JobHistory run(List<SimulatedJob> wanted) {
    Deque<SimulatedJob> coming = new ArrayDeque<>(wanted.size());
    wanted.stream()
        .sorted(Comparator.comparingLong(SimulatedJob::arrivalNanos))
        .forEach(coming::addLast);
    while (!coming.isEmpty() || !running.isEmpty()) {
      long arrival = coming.isEmpty() ? Long.MAX_VALUE : coming.getFirst().arrivalNanos();
      long now = Math.min(arrival, running.nextNanos());
      for (Ended ended : running.advance(now)) {
        ended(ended, now);
      }
      while (!coming.isEmpty() && coming.getFirst().arrivalNanos() <= now) {
        arrive(coming.removeFirst(), now);
      }
      fill(now);
    }
    return new JobHistory(
        records, intervals.intervals(), refused, memory.mostBytes(), memory.mostLanes());
  }

  private void arrive(SimulatedJob job, long now) {
    if (!memory.fitsAlone(job)) {
      refused.add(job);
      return;
    }
    Progress progress = new Progress(job);
    if (jobs.putIfAbsent(job.id(), progress) != null) {
      throw new IllegalArgumentException("two jobs are called " + job.id());
    }
    if (rules.admitsOnArrival()) {
      Optional<LaneId> lane = memory.arrive(progress);
      lane.ifPresent(assigned -> queue(job, assigned, now));
    } else {
      queue(job, THE_LINE, now);
    }
  }

  private void queue(SimulatedJob job, LaneId lane, long now) {
    lines
        .computeIfAbsent(lane, _ -> new IterationLine(rules.scheduling()))
        .add(job.id(), job.iterationNanos(), job.iterations(), now);
  }

  private void fill(long now) {
    if (!rules.admitsOnArrival()) {
      if (running.isEmpty()) {
        begin(THE_LINE, now);
      }
      return;
    }
    for (LaneId lane : memory.lanes()) {
      if (!running.isBusy(lane)) {
        begin(lane, now);
      }
    }
  }

  private void begin(LaneId lane, long now) {
    @Nullable IterationLine line = lines.get(lane);
    @Nullable String next = line == null ? null : line.next(now);
    @Nullable Progress job = next == null ? null : jobs.get(next);
    if (job == null) {
      return;
    }
    long host = job.hasStarted() ? 0 : job.job().startNanos();
    if (previous.put(lane, job) != job) {
      host += rules.costs().changeNanos();
    }
    if (!memory.holds(job)) {
      memory.makeRoom(job);
      host += load(job);
    } else if (!job.wasLoaded()) {
      host += load(job);
    }
    job.runs(now);
    running.begin(job, lane, host);
  }

  private long load(Progress job) {
    job.loaded();
    return rules.costs().loadNanos(job.job().persistentBytes());
  }

  private void ended(Ended ended, long now) {
    Progress job = ended.job();
    LaneId lane = ended.lane();
    intervals.ran(
        job.job().id(),
        rules.admitsOnArrival() ? lane : memory.laneOf(job),
        ended.fromNanos(),
        now);
    @Nullable IterationLine line = lines.get(lane);
    if (line != null) {
      line.ended(now);
    }
    if (job.ran()) {
      records.add(job.ended(now));
      jobs.remove(job.job().id());
      for (Assigned admitted : memory.leave(job)) {
        @Nullable Progress waited = jobs.get(admitted.job().id());
        if (waited != null) {
          queue(waited.job(), admitted.lane(), now);
        }
      }
    }
  }
}
