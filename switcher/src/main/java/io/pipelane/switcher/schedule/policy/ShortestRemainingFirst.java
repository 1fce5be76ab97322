package io.pipelane.switcher.schedule.policy;

import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.RunKey;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.SchedulingPolicy;
import io.pipelane.switcher.schedule.queue.WorkAhead;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.OptionalLong;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Latency-aware shortest remaining time first (Salus §4.2, with deadlines): the request runs next
 * that is done soonest, or whose job is, its wait for weights included, but for two things. One
 * that would miss its deadline behind that one, and makes it now, goes ahead. And waiting counts:
 * {@code ageing} times the time a request has waited is taken off what remains.
 */
final class ShortestRemainingFirst implements SchedulingPolicy {
  /*
   * No request starves, if ageing is above 0. A request with remaining time R that has waited for R
   * / ageing has a rank of 0 or less. Nobody who comes later can have that rank before it has run.
   * So only those go ahead that came before. In front of each run of those, one at most goes ahead
   * that would miss its deadline otherwise.
   *
   * Requests of one key and of one job, or of none, have the same time left, so the oldest of them
   * is first. `lines` holds a line for each, and only their heads are compared. Time left is that
   * of the whole job; but whoever is due waits for the end of a run, so slack is compared with
   * runs. `deadlines` holds those that have one, by the last moment at which their run must begin.
   * `deadlinesOf` holds the same by key, as that moment is earlier by the key's stall, which
   * changes.
   *
   * A request X surely runs before Y, which has a deadline, if X ranks before Y and is due to begin
   * before Y: whoever is polled ranks first or is due first. Y goes before a request of lower rank
   * when Y becomes urgent.
   *
   * A run gives way to a request of another key that ranks before it by more than SWITCH_NANOS,
   * which is more than two changes of threads take. A run's rank is made as a request's is, so it
   * cannot be put off for ever either. What a batch still needs is shared by the requests that it
   * answers (Smith's rule). A run gives way to an urgent request, too, unless it has a deadline
   * itself, or the rank of the run or of a request that waits is 0 or less.
   */
  private static final long SWITCH_NANOS = 500_000;

  /** Requests with the same time left. */
  private record Line(RunKey key, Object owner) {
    static Line of(QueuedRequest request) {
      return new Line(request.key(), request.owner());
    }
  }

  private record Due(long latestStartNanos, long number, QueuedRequest request) {}

  private static final Comparator<Due> BY_LATEST_START =
      Comparator.comparingLong(Due::latestStartNanos).thenComparingLong(Due::number);

  private record Ranked(QueuedRequest request, double rank) {
    /** Whether it goes before one that has come later or has another deadline. */
    boolean isBefore(Ranked other) {
      return rank < other.rank
          || (rank == other.rank
              && (isOlder(request, other.request)
                  || Line.of(request).equals(Line.of(other.request))));
    }
  }

  private final Estimates estimates;
  private final double ageing;
  private final Map<Line, Deque<QueuedRequest>> lines = new LinkedHashMap<>();
  private final TreeSet<Due> deadlines = new TreeSet<>(BY_LATEST_START);
  private final Map<RunKey, NavigableSet<Due>> deadlinesOf = new LinkedHashMap<>();
  private final Map<QueuedRequest, Due> dues = new HashMap<>();
  private long numbers;
  private boolean passed; // By one that was urgent, just now: who has waited for long enough.

  /** Takes nothing off for waiting where {@code ageing} is 0; requests may starve then. */
  ShortestRemainingFirst(Estimates estimates, double ageing) {
    this.estimates = estimates;
    this.ageing = ageing;
  }

  @Override
  public void add(QueuedRequest request) {
    lines.computeIfAbsent(Line.of(request), _ -> new ArrayDeque<>()).addLast(request);
    if (request.request().deadlineNanos().isPresent()) {
      Due due = new Due(latestStartNanos(request), numbers++, request);
      dues.put(request, due);
      deadlines.add(due);
      deadlinesOf.computeIfAbsent(request.key(), _ -> new TreeSet<>(BY_LATEST_START)).add(due);
    }
  }

  private long latestStartNanos(QueuedRequest request) {
    return request.request().deadlineNanos().orElse(Long.MAX_VALUE)
        - estimates.executionNanos(request.key());
  }

  @Override
  public @Nullable QueuedRequest poll(long nowNanos) {
    @Nullable QueuedRequest next = shortest(nowNanos);
    if (next != null) {
      boolean isItsTurn = rank(next, nowNanos) <= 0;
      @Nullable QueuedRequest urgent =
          isItsTurn && passed ? null : urgent(estimates.remainingNanos(next.key()), nowNanos);
      passed = isItsTurn && urgent != null && urgent != next;
      next = urgent == null ? next : urgent;
      remove(next);
    }
    return next;
  }

  @Override
  public @Nullable QueuedRequest interrupting(
      QueuedRequest run, long remainingNanos, long nowNanos) {
    @Nullable QueuedRequest next = shortest(nowNanos);
    if (next == null) {
      return null;
    }
    double least = rank(next, nowNanos);
    double own = rank(run, remainingNanos, nowNanos);
    boolean heedsUrgent = run.request().deadlineNanos().isEmpty() && Math.min(least, own) > 0;
    @Nullable QueuedRequest urgent = heedsUrgent ? urgent(remainingNanos, nowNanos) : null;
    if (urgent != null) {
      return urgent;
    }
    boolean goesBefore = !Line.of(next).equals(Line.of(run.polled())) && least + SWITCH_NANOS < own;
    return goesBefore ? next : null;
  }

  /**
   * The request goes before the run, and is done sooner by more than is lost: what the run has had,
   * and what it waits at most for the weights that it gave up, of its own time and of that of each
   * that waits behind it; and the run must still be in time itself. Of one of which nothing is
   * known that cannot be said.
   */
  @Override
  public boolean makesWay(
      QueuedRequest run, long remainingNanos, long hadNanos, QueuedRequest first, long nowNanos) {
    long lostNanos = hadNanos + estimates.wholeStallNanos(run.key()) + SWITCH_NANOS;
    long lostByAllNanos = lostNanos * (1 + lines.values().stream().mapToInt(Deque::size).sum());
    long firstNanos = estimates.remainingNanos(first.key());
    OptionalLong deadline = run.request().deadlineNanos();
    return !Line.of(first.polled()).equals(Line.of(run.polled()))
        && estimates.executionNanos(first.key()) > 0
        && firstNanos + lostByAllNanos < remainingNanos
        && rank(first.polled(), nowNanos) + lostByAllNanos < rank(run, remainingNanos, nowNanos)
        && (deadline.isEmpty()
            || firstNanos + lostNanos + remainingNanos <= deadline.getAsLong() - nowNanos);
  }

  private double rank(QueuedRequest run, long remainingNanos, long nowNanos) {
    return (double) remainingNanos / run.answers()
        + run.polled().behindNanos()
        - ageing * (nowNanos - run.submittedNanos());
  }

  private @Nullable QueuedRequest shortest(long nowNanos) {
    if (lines.size() == 1) {
      return lines.values().iterator().next().getFirst();
    }
    @Nullable QueuedRequest best = null;
    double least = Double.POSITIVE_INFINITY;
    for (Deque<QueuedRequest> line : lines.values()) {
      QueuedRequest head = line.getFirst();
      double rank = rank(head, nowNanos);
      if (best == null || rank < least || (rank == least && isOlder(head, best))) {
        best = head;
        least = rank;
      }
    }
    return best;
  }

  private double rank(QueuedRequest request, long nowNanos) {
    return estimates.remainingNanos(request.key())
        + request.behindNanos()
        - ageing * (nowNanos - request.submittedNanos());
  }

  private static boolean isOlder(QueuedRequest one, QueuedRequest other) {
    return one.submittedNanos() < other.submittedNanos();
  }

  /**
   * The request with least slack, if it cannot wait for so long. What its weights still take is its
   * key's, so of each key the first that is due is the one.
   */
  private @Nullable QueuedRequest urgent(long waitNanos, long nowNanos) {
    @Nullable QueuedRequest urgent = null;
    long least = waitNanos;
    for (Map.Entry<RunKey, NavigableSet<Due>> due : deadlinesOf.entrySet()) {
      Due first = due.getValue().first();
      long slack = first.latestStartNanos - estimates.stallNanos(due.getKey()) - nowNanos;
      if (slack < least) {
        least = slack;
        urgent = first.request;
      }
    }
    return urgent;
  }

  @Override
  public void remove(QueuedRequest request) {
    @Nullable Deque<QueuedRequest> line = lines.get(Line.of(request));
    if (line != null) {
      line.remove(request);
      if (line.isEmpty()) {
        lines.remove(Line.of(request));
      }
    }
    @Nullable Due due = dues.remove(request);
    if (due != null) {
      deadlines.remove(due);
      deadlinesOf.computeIfPresent(
          request.key(), (_, dues) -> dues.remove(due) && dues.isEmpty() ? null : dues);
    }
  }

  @Override
  public List<QueuedRequest> first(int count, long nowNanos) {
    List<Ranked> ranked = new ArrayList<>();
    for (Deque<QueuedRequest> line : lines.values()) {
      QueuedRequest head = line.getFirst();
      ranked.add(new Ranked(head, rank(head, nowNanos)));
    }
    return ranked.stream()
        .sorted(Comparator.comparingDouble(Ranked::rank))
        .limit(count)
        .map(Ranked::request)
        .toList();
  }

  @Override
  public WorkAhead ahead(QueuedRequest request, long nowNanos) {
    Ranked own = new Ranked(request, rank(request, nowNanos));
    List<QueuedRequest> certain = new ArrayList<>();
    if (request.request().deadlineNanos().isEmpty()) {
      lines.values().forEach(line -> addBefore(own, line, nowNanos, certain));
      return new WorkAhead(certain, 0);
    }
    Due latest = new Due(latestStartNanos(request), Long.MAX_VALUE, request);
    long others = 0;
    @Nullable Ranked last = null;
    for (Due due : deadlines.headSet(latest)) {
      Ranked other = new Ranked(due.request, rank(due.request, nowNanos));
      if (other.isBefore(own) && (last == null || last.isBefore(other))) {
        certain.add(other.request);
        last = other;
      } else {
        others += other.request.leastNanos();
      }
    }
    if (last == null) {
      return WorkAhead.NONE; // As mostly: the others need not be looked at.
    }
    for (Due due : deadlines.tailSet(latest)) {
      Ranked other = new Ranked(due.request, rank(due.request, nowNanos));
      others += other.isBefore(own) ? other.request.leastNanos() : 0;
    }
    List<QueuedRequest> withoutDeadline = new ArrayList<>();
    lines.values().forEach(line -> addBefore(own, line, nowNanos, withoutDeadline));
    for (QueuedRequest other : withoutDeadline) {
      others += dues.containsKey(other) ? 0 : other.leastNanos();
    }
    return new WorkAhead(certain, others);
  }

  /** Adds those of a line that rank before another request. */
  private void addBefore(
      Ranked own, Deque<QueuedRequest> line, long nowNanos, List<QueuedRequest> before) {
    for (QueuedRequest other : line) {
      if (!new Ranked(other, rank(other, nowNanos)).isBefore(own)) {
        return;
      }
      before.add(other);
    }
  }

  @Override
  public boolean interrupts() {
    return true;
  }

  @Override
  public List<QueuedRequest> alike(QueuedRequest request, int count) {
    @Nullable Deque<QueuedRequest> line = lines.get(Line.of(request));
    return line == null ? List.of() : request.alikeIn(line.stream(), count);
  }
}
