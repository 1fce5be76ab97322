package io.pipelane.switcher.placement;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** The requests that a device has been given and has not answered yet. Safe for any thread. */
final class Backlog {
  private final int lanes;
  private final Work online = new Work();
  private final Work offline = new Work();

  /** Nothing, on a device with so many lanes. */
  Backlog(int lanes) {
    this.lanes = lanes;
  }

  /** Requests, and how long they were expected to take when they came. */
  private static final class Work {
    final AtomicInteger requests = new AtomicInteger();
    final AtomicLong nanos = new AtomicLong();

    void add(int requests, long nanos) {
      this.requests.addAndGet(requests);
      this.nanos.addAndGet(nanos);
    }
  }

  private Work of(Priority priority) {
    return switch (priority) {
      case ONLINE -> online;
      case OFFLINE -> offline;
    };
  }

  void came(Priority priority, long expectedNanos) {
    of(priority).add(1, expectedNanos);
  }

  /** Told of every request that came, with the same numbers. */
  void left(Priority priority, long expectedNanos) {
    of(priority).add(-1, -expectedNanos);
  }

  /**
   * How long a request that came now would wait for a lane: not at all while one is free, else as
   * long as all lanes together need for what is there. What runs counts whole, so this is too long
   * by half a run. Online requests pass offline ones.
   */
  long waitNanos(Priority priority) {
    int requests = online.requests.get();
    long nanos = online.nanos.get();
    if (priority == Priority.OFFLINE) {
      requests += offline.requests.get();
      nanos += offline.nanos.get();
    }
    return requests < lanes ? 0 : Math.max(0, nanos / lanes);
  }

  /** Whether online requests have come and not left. */
  boolean isOnline() {
    return online.requests.get() > 0;
  }

  /** Requests that have come and not left. */
  int requests() {
    return online.requests.get() + offline.requests.get();
  }
}
