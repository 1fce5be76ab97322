package io.pipelane.server.access;

import io.pipelane.config.StatusException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * The allowance of requests that the holder of a key, or of tokens, has left. Safe for any thread;
 * takes no lock.
 */
final class Allowance {
  /*
   * The rate is kept by the generic cell rate algorithm (ITU-T I.371, annex A): `due` is when the
   * next request would come if all came evenly; one may come up to `burst` - 1 intervals earlier.
   */
  private static final Duration RETRY_AFTER_BUSY = Duration.ofSeconds(1);

  private final String name;
  private final Limits limits;
  private final LongSupplier nanoClock;
  private final long intervalNanos;
  private final AtomicLong due;
  private final AtomicInteger running = new AtomicInteger();

  /**
   * The limits of an allowance.
   *
   * @param requestsPerSecond 0 for no limit
   * @param burst requests that may come at once
   * @param concurrentRequests 0 for no limit
   */
  record Limits(double requestsPerSecond, int burst, int concurrentRequests) {
    static final Limits NONE = new Limits(0, 1, 0);

    private static final int LARGEST_BURST = 1_000_000;

    /** A second's requests may come at once. */
    static Limits evenly(double requestsPerSecond, int concurrentRequests) {
      return new Limits(requestsPerSecond, burst(requestsPerSecond), concurrentRequests);
    }

    /** What may come at once where nothing else is said. */
    static int burst(double requestsPerSecond) {
      return (int) Math.clamp(Math.ceil(requestsPerSecond), 1, LARGEST_BURST);
    }
  }

  /**
   * All that the limits allow.
   *
   * @param name what messages call the holder
   */
  Allowance(String name, Limits limits, LongSupplier nanoClock) {
    this.name = name;
    this.limits = limits;
    this.nanoClock = nanoClock;
    this.intervalNanos =
        limits.requestsPerSecond == 0
            ? 0
            : Math.max(1, (long) (TimeUnit.SECONDS.toNanos(1) / limits.requestsPerSecond));
    this.due = new AtomicLong(nanoClock.getAsLong());
  }

  Limits limits() {
    return limits;
  }

  /**
   * Lets one request begin, which {@link #end} ends.
   *
   * @throws StatusException {@link io.pipelane.config.Status#RATE_LIMITED}, with a time to try
   *     again
   */
  void begin() {
    int before = running.getAndIncrement();
    if (limits.concurrentRequests > 0 && before >= limits.concurrentRequests) {
      end();
      throw StatusException.rateLimited(
          "%s has %d requests under way, as many as it may have; wait for an answer"
              .formatted(name, limits.concurrentRequests),
          RETRY_AFTER_BUSY);
    }
    try {
      count();
    } catch (StatusException e) {
      end();
      throw e;
    }
  }

  void end() {
    running.decrementAndGet();
  }

  /**
   * Counts one request towards the rate.
   *
   * @throws StatusException {@link io.pipelane.config.Status#RATE_LIMITED}, with a time to try
   *     again
   */
  void count() {
    if (intervalNanos == 0) {
      return;
    }
    long now = nanoClock.getAsLong();
    while (true) {
      long before = due.get();
      long next = (before - now > 0 ? before : now) + intervalNanos;
      long early = next - now - limits.burst * intervalNanos;
      if (early > 0) {
        throw StatusException.rateLimited(
            "%s may ask %s times a second; this is more".formatted(name, limits.requestsPerSecond),
            Duration.ofNanos(early));
      }
      if (due.compareAndSet(before, next)) {
        return;
      }
    }
  }
}
