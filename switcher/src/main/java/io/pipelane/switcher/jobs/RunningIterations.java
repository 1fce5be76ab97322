package io.pipelane.switcher.jobs;

import io.pipelane.lanes.assignment.LaneId;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * The iterations under way, one a lane, on a device that they share. Each wants the device for a
 * part of its time. When they want more than all of it together, each of them is slowed down by as
 * much.
 */
final class RunningIterations {
  /** Below that nothing is left: times are whole nanoseconds. */
  private static final double NOTHING = 0.5;

  private final List<Running> all = new ArrayList<>();
  private long nowNanos;

  private static final class Running {
    final Progress job;
    final LaneId lane;
    final long fromNanos;
    double hostNanos;
    double deviceNanos;

    Running(Progress job, LaneId lane, long fromNanos, long hostNanos) {
      this.job = job;
      this.lane = lane;
      this.fromNanos = fromNanos;
      this.hostNanos = hostNanos;
      this.deviceNanos = job.job().iterationNanos();
    }

    boolean isOnHost() {
      return hostNanos > NOTHING;
    }
  }

  /** An iteration that has ended. */
  record Ended(Progress job, LaneId lane, long fromNanos) {}

  /** Begins one now, with so much time before it that does not use the device. */
  void begin(Progress job, LaneId lane, long hostNanos) {
    all.add(new Running(job, lane, nowNanos, hostNanos));
  }

  boolean isBusy(LaneId lane) {
    return all.stream().anyMatch(running -> running.lane.equals(lane));
  }

  boolean isEmpty() {
    return all.isEmpty();
  }

  /** When something changes next by itself; the end of time when nothing runs. */
  long nextNanos() {
    double slowdown = slowdown();
    double least = Double.POSITIVE_INFINITY;
    for (Running running : all) {
      double left = running.isOnHost() ? running.hostNanos : running.deviceNanos * slowdown;
      least = Math.min(least, left);
    }
    return all.isEmpty() ? Long.MAX_VALUE : nowNanos + (long) Math.ceil(least);
  }

  /**
   * Lets time pass.
   *
   * @param nanos not behind {@link #nextNanos}
   * @return those that have ended by then
   */
  List<Ended> advance(long nanos) {
    double passed = nanos - nowNanos;
    double slowdown = slowdown();
    nowNanos = nanos;
    List<Ended> ended = new ArrayList<>();
    for (Iterator<Running> each = all.iterator(); each.hasNext(); ) {
      Running running = each.next();
      if (running.isOnHost()) {
        running.hostNanos -= passed;
      } else {
        running.deviceNanos -= passed / slowdown;
      }
      if (!running.isOnHost() && running.deviceNanos <= NOTHING) {
        ended.add(new Ended(running.job, running.lane, running.fromNanos));
        each.remove();
      }
    }
    return ended;
  }

  private double slowdown() {
    double wanted = 0;
    for (Running running : all) {
      wanted += running.isOnHost() ? 0 : running.job.job().deviceShare();
    }
    return Math.max(1, wanted);
  }
}
