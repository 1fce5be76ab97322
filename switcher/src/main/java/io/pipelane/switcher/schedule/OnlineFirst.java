package io.pipelane.switcher.schedule;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Offline requests run while none that is online waits, and give way to those at any gate; each
 * kind keeps an order of its own. Offline requests wait for as long as there is online work.
 */
final class OnlineFirst implements SchedulingPolicy {
  private final SchedulingPolicy online;
  private final SchedulingPolicy offline;

  OnlineFirst(SchedulingPolicy online, SchedulingPolicy offline) {
    this.online = online;
    this.offline = offline;
  }

  private SchedulingPolicy lineOf(QueuedRequest request) {
    return isOffline(request) ? offline : online;
  }

  private static boolean isOffline(QueuedRequest request) {
    return request.request().priority() == Priority.OFFLINE;
  }

  @Override
  public void add(QueuedRequest request) {
    lineOf(request).add(request);
  }

  @Override
  public @Nullable QueuedRequest poll(long nowNanos) {
    @Nullable QueuedRequest next = online.poll(nowNanos);
    return next == null ? offline.poll(nowNanos) : next;
  }

  @Override
  public void remove(QueuedRequest request) {
    lineOf(request).remove(request);
  }

  @Override
  public List<QueuedRequest> first(int count, long nowNanos) {
    List<QueuedRequest> first = new ArrayList<>(online.first(count, nowNanos));
    first.addAll(offline.first(count - first.size(), nowNanos));
    return first;
  }

  @Override
  public @Nullable QueuedRequest interrupting(
      QueuedRequest run, long remainingNanos, long nowNanos) {
    if (!isOffline(run)) {
      return online.interrupting(run, remainingNanos, nowNanos);
    }
    List<QueuedRequest> first = online.first(1, nowNanos);
    return first.isEmpty() ? offline.interrupting(run, remainingNanos, nowNanos) : first.getFirst();
  }
}
