package io.pipelane.switcher.schedule;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Requests run in the order in which they came; no request waits for one that came later. */
public final class FirstComeFirstServed implements SchedulingPolicy {
  private final Deque<QueuedRequest> requests = new ArrayDeque<>();

  @Override
  public void add(QueuedRequest request) {
    requests.addLast(request);
  }

  @Override
  public @Nullable QueuedRequest poll() {
    return requests.pollFirst();
  }

  @Override
  public List<QueuedRequest> first(int count) {
    return requests.stream().limit(count).toList();
  }

  @Override
  public void remove(QueuedRequest request) {
    requests.remove(request);
  }
}
