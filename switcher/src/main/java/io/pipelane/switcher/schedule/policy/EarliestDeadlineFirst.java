package io.pipelane.switcher.schedule.policy;

import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.SchedulingPolicy;
import io.pipelane.switcher.schedule.queue.WorkAhead;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The policy by which the request runs next whose deadline is nearest. A request without a deadline
 * counts as if it were due a second after it came, so that it is answered whatever comes later.
 */
final class EarliestDeadlineFirst implements SchedulingPolicy {
  private static final long WITHOUT_DEADLINE_NANOS = 1_000_000_000L;

  private record Due(long nanos, long number, QueuedRequest request) {}

  private final TreeSet<Due> line =
      new TreeSet<>(Comparator.comparingLong(Due::nanos).thenComparingLong(Due::number));
  private final Map<QueuedRequest, Due> dues = new HashMap<>();
  private long numbers;

  @Override
  public void add(QueuedRequest request) {
    Due due = new Due(dueNanos(request), numbers++, request);
    dues.put(request, due);
    line.add(due);
  }

  private static long dueNanos(QueuedRequest request) {
    return request
        .request()
        .deadlineNanos()
        .orElse(request.submittedNanos() + WITHOUT_DEADLINE_NANOS);
  }

  @Override
  public @Nullable QueuedRequest poll(long nowNanos) {
    if (line.isEmpty()) {
      return null;
    }
    QueuedRequest next = line.getFirst().request;
    remove(next);
    return next;
  }

  @Override
  public void remove(QueuedRequest request) {
    @Nullable Due due = dues.remove(request);
    if (due != null) {
      line.remove(due);
    }
  }

  @Override
  public List<QueuedRequest> first(int count, long nowNanos) {
    return line.stream().limit(count).map(Due::request).toList();
  }

  @Override
  public WorkAhead ahead(QueuedRequest request, long nowNanos) {
    SortedSet<Due> before = line.headSet(new Due(dueNanos(request), numbers, request));
    return new WorkAhead(() -> before.stream().map(Due::request).iterator(), 0);
  }

  @Override
  public List<QueuedRequest> alike(QueuedRequest request, int count) {
    return request.alikeIn(line.stream().map(Due::request), count);
  }
}
