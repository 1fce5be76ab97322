package io.pipelane.server.catalog;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Supplier;

/** A thread that has a {@link RepositoryPoll} look again and again. */
public final class PollThread implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(PollThread.class.getName());

  private final RepositoryPoll poll;
  private final long intervalNanos;
  private final Thread thread;
  private volatile boolean closed;

  private PollThread(RepositoryPoll poll, Duration interval) {
    this.poll = poll;
    this.intervalNanos = interval.toNanos();
    this.thread = Thread.ofPlatform().name("repository-poll").daemon().unstarted(this::work);
  }

  /**
   * A thread that looks in an interval; none where that is 0. Made before the scan of the
   * repository, so that what changes meanwhile is seen, and started after it.
   *
   * @param stamps as {@link RepositoryPoll} has them
   * @param reload the same
   */
  public static Optional<PollThread> every(
      Duration interval,
      Supplier<Map<String, Optional<String>>> stamps,
      Function<String, CompletableFuture<Void>> reload) {
    return interval.isZero()
        ? Optional.empty()
        : Optional.of(new PollThread(new RepositoryPoll(stamps, reload), interval));
  }

  /** Begins; the first look comes after one interval. */
  public void start() {
    thread.start();
  }

  private void work() {
    long next = System.nanoTime() + intervalNanos;
    while (!closed) {
      long rest = next - System.nanoTime();
      if (rest > 0) {
        LockSupport.parkNanos(this, rest);
        continue;
      }
      try {
        CompletableFuture<Void> _ = poll.look();
      } catch (RuntimeException e) {
        LOG.log(Level.ERROR, "looking at the repository failed", e);
      }
      next = System.nanoTime() + intervalNanos;
    }
  }

  /** Ends the thread after the look under way, which it does not wait for. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
  }
}
