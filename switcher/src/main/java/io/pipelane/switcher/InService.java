package io.pipelane.switcher;

import io.pipelane.switcher.InferenceService.Ticket;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * A version that is in service, or on its way in or out, and how many of its requests and holders
 * there are: one that leaves answers those that it has taken. What is built of it keeps it there.
 * Safe for any thread.
 */
final class InService {
  /*
   * A request is counted before it looks whether the version is open, and a version that leaves says
   * so before it looks at the count: one of them sees the other. So are builders, for whom there is
   * no time limit: they use the addresses of its weights.
   */
  private static final long LOOK_AGAIN_NANOS = 1_000_000;

  private final AtomicInteger requests = new AtomicInteger();
  private final AtomicInteger builders = new AtomicInteger();
  private final Runnable whenTold = this::ended;
  private volatile Phase phase = Phase.STARTING;

  private enum Phase {
    STARTING,
    OPEN,
    ENDING,
    ENDED
  }

  void open() {
    phase = Phase.OPEN;
  }

  boolean isOpen() {
    return phase == Phase.OPEN;
  }

  /** Whether it answers its holders. */
  boolean isThere() {
    return phase == Phase.OPEN || phase == Phase.ENDING;
  }

  /**
   * Takes no more requests from now on, but its holders'; false when it did not take any before
   * either.
   */
  synchronized boolean leave() {
    if (phase != Phase.OPEN) {
      return false;
    }
    phase = Phase.ENDING;
    return true;
  }

  /**
   * Counts a request until its handler is told the end.
   *
   * @param taking has the request taken, given what is to be told; nothing is counted where it
   *     throws
   */
  Ticket count(ResultHandler handler, Function<ResultHandler, Ticket> taking) {
    begin();
    boolean taken = false;
    try {
      Ticket ticket = taking.apply(handler.andThen(whenTold));
      taken = true;
      return ticket;
    } finally {
      if (!taken) {
        ended();
      }
    }
  }

  /**
   * Counts a holder until {@link #ended}.
   *
   * @return false when it is not open; nobody is counted then
   */
  boolean hold() {
    begin();
    if (!isOpen()) {
      ended();
      return false;
    }
    return true;
  }

  /** Counts somebody until {@link #ended}, who looks then whether it is there. */
  void begin() {
    requests.incrementAndGet();
  }

  /** A request or a holder that was counted has gone. */
  void ended() {
    requests.decrementAndGet();
  }

  /**
   * Builds something of it, which stays as long as that takes.
   *
   * @return false when it is not open; nothing is built then
   */
  boolean build(Runnable work) {
    builders.incrementAndGet();
    try {
      boolean isOpen = isOpen();
      if (isOpen) {
        work.run();
      }
      return isOpen;
    } finally {
      builders.decrementAndGet();
    }
  }

  /**
   * Waits until no request is under way, but not beyond a time, and takes none of anybody's then;
   * and until nothing is being built.
   *
   * @param stillBuilt told once where that is what it waits for
   */
  void awaitNone(long endNanos, Runnable stillBuilt) {
    boolean interrupted = false;
    while (requests.get() > 0 && System.nanoTime() - endNanos < 0) {
      interrupted |= paused();
    }
    phase = Phase.ENDED;
    if (builders.get() > 0) {
      stillBuilt.run();
    }
    while (builders.get() > 0) {
      interrupted |= paused();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns whether the thread was interrupted, which would keep it from pausing again. */
  private static boolean paused() {
    LockSupport.parkNanos(LOOK_AGAIN_NANOS);
    return Thread.interrupted();
  }
}
