package io.pipelane.switcher.jobs;

import io.pipelane.lanes.assignment.LaneId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Notes what ran when; iterations of a job that follow each other in a lane become one interval.
 */
final class IntervalLog {
  private final List<LaneInterval> closed = new ArrayList<>();
  private final Map<LaneId, LaneInterval> latest = new HashMap<>();

  void ran(String job, LaneId lane, long fromNanos, long toNanos) {
    LaneInterval before = latest.get(lane);
    if (before != null && before.job().equals(job) && before.toNanos() == fromNanos) {
      latest.put(lane, new LaneInterval(job, lane, before.fromNanos(), toNanos));
      return;
    }
    if (before != null) {
      closed.add(before);
    }
    latest.put(lane, new LaneInterval(job, lane, fromNanos, toNanos));
  }

  /** All of them, in the order of their beginnings. */
  List<LaneInterval> intervals() {
    List<LaneInterval> all = new ArrayList<>(closed);
    all.addAll(latest.values());
    all.sort(
        Comparator.comparingLong(LaneInterval::fromNanos)
            .thenComparingLong(interval -> interval.lane().number()));
    return all;
  }
}
