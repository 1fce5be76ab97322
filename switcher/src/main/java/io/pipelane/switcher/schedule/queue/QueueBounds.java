package io.pipelane.switcher.schedule.queue;

import io.pipelane.config.StatusException;

/**
 * The bounds of the queue, and how much of them is taken. Guarded by the queue's lock, but where it
 * says so.
 */
final class QueueBounds {
  private final Occupancy.Bounds bounds;
  private final Occupancy waiting = new Occupancy("the queue");
  private volatile boolean isEmpty = true;
  private long leastNanos;

  QueueBounds(int maximumRequests, long maximumBytes) {
    bounds =
        new Occupancy.Bounds(
            maximumRequests, "queue.max-requests", maximumBytes, "queue.max-bytes");
  }

  /**
   * Lets a request in.
   *
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE} when there is no room for
   *     it or its class, or none for its model, {@link io.pipelane.config.Status#TOO_LARGE} when
   *     there never is
   */
  void admit(QueuedRequest request) {
    waiting.requireRoom(request, bounds);
    request.line().admit(request);
    waiting.entered(request);
    isEmpty = false;
    leastNanos += request.leastNanos();
  }

  void left(QueuedRequest request) {
    waiting.left(request);
    isEmpty = waiting.requests() == 0;
    leastNanos -= request.leastNanos();
    request.line().left(request);
  }

  /** Whether nothing waits; for any thread. */
  boolean isEmpty() {
    return isEmpty;
  }

  /** What the runs take at least of all that waits. */
  long leastNanos() {
    return leastNanos;
  }

  int requests() {
    return waiting.requests();
  }

  long bytes() {
    return waiting.bytes();
  }
}
