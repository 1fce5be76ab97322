package io.pipelane.switcher.schedule.policy;

import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.SchedulingPolicy;
import io.pipelane.switcher.schedule.queue.WorkAhead;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The policy by which requests run in the order in which they, or the offline jobs that they are
 * of, came. None waits for one that came later.
 */
public final class FirstComeFirstServed implements SchedulingPolicy {
  private final ComingOrder requests = new ComingOrder();

  @Override
  public void add(QueuedRequest request) {
    requests.add(request);
  }

  @Override
  public @Nullable QueuedRequest poll(long nowNanos) {
    if (requests.isEmpty()) {
      return null;
    }
    QueuedRequest next = requests.first();
    requests.remove(next);
    return next;
  }

  @Override
  public List<QueuedRequest> first(int count, long nowNanos) {
    return requests.stream().limit(count).toList();
  }

  @Override
  public WorkAhead ahead(QueuedRequest request, long nowNanos) {
    return new WorkAhead(requests, 0);
  }

  @Override
  public List<QueuedRequest> alike(QueuedRequest request, int count) {
    return request.alikeIn(requests.stream(), count);
  }

  @Override
  public void remove(QueuedRequest request) {
    requests.remove(request);
  }
}
