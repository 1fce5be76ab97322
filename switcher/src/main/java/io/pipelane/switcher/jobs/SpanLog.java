package io.pipelane.switcher.jobs;

import io.pipelane.lanes.assignment.LaneId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A log of what ran when; iterations of a job that follow each other in a lane become one span. */
final class SpanLog {
  private final List<Span> closed = new ArrayList<>();
  private final Map<LaneId, Span> latest = new HashMap<>();

  void ran(String job, LaneId lane, long fromNanos, long toNanos) {
    Span before = latest.get(lane);
    if (before != null && before.job().equals(job) && before.toNanos() == fromNanos) {
      latest.put(lane, new Span(job, lane, before.fromNanos(), toNanos));
      return;
    }
    if (before != null) {
      closed.add(before);
    }
    latest.put(lane, new Span(job, lane, fromNanos, toNanos));
  }

  /** All of them, in the order of their beginnings. */
  List<Span> spans() {
    List<Span> all = new ArrayList<>(closed);
    all.addAll(latest.values());
    all.sort(
        Comparator.comparingLong(Span::fromNanos).thenComparingLong(span -> span.lane().number()));
    return all;
  }
}
