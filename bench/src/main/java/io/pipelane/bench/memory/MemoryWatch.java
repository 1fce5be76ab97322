package io.pipelane.bench.memory;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.switcher.MemoryOverview;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * A watch that looks at a server's memory again and again, on a thread of its own, until it is
 * closed.
 */
final class MemoryWatch implements AutoCloseable {
  private static final long PERIOD_NANOS = 200_000;

  private final LocalPipelane server;
  private final List<Moment> moments = new ArrayList<>();
  private final long beginNanos = System.nanoTime();
  private final Thread thread;
  private volatile boolean closed;

  /** The memory seen at one moment, so many milliseconds after the beginning. */
  record Moment(double millis, MemoryOverview memory) {}

  MemoryWatch(LocalPipelane server) {
    this.server = server;
    thread = Thread.ofPlatform().name("memory-watch").daemon().start(this::look);
  }

  private void look() {
    while (!closed) {
      moments.add(new Moment((System.nanoTime() - beginNanos) / 1e6, server.memory()));
      LockSupport.parkNanos(PERIOD_NANOS);
    }
  }

  /** What was seen; once it is closed. */
  List<Moment> moments() {
    if (!closed) {
      throw new IllegalStateException("the watch is not closed");
    }
    return moments;
  }

  @Override
  public void close() {
    closed = true;
    ThreadEnd.await(thread);
  }
}
