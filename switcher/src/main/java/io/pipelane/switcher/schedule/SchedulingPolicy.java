package io.pipelane.switcher.schedule;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The order in which queued requests run. Not safe for several threads: the queue guards it. */
public interface SchedulingPolicy {
  void add(QueuedRequest request);

  /** Takes the request that runs next; null when there is none. */
  @Nullable QueuedRequest poll();

  /** Forgets a request that was withdrawn; it may have been polled already. */
  void remove(QueuedRequest request);

  /** The first {@code count} requests, in the order in which they would run now. */
  List<QueuedRequest> first(int count);
}
