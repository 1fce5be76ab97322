package io.pipelane.switcher.memory;

import java.time.Duration;

/**
 * How many of a model's first pages have stayed for a while, and how many of those have memory of
 * their own. Guarded by the daemon's lock.
 */
final class Stay {
  /** After a page could not be copied; twice as long after each further one in a row. */
  private static final Duration FIRST_REST = Duration.ofSeconds(1);

  private static final int MOST_DOUBLINGS = 6;

  private int seen; // at the latest look, and since
  private int stayed; // from one look to the next
  private int owned;
  private int failures;
  private long failedNanos;

  /** Looks at how many pages there are; those that were there the last time have stayed. */
  void look(int pages) {
    stayed = seen;
    seen = pages;
  }

  /** All pages but the first have gone. */
  void keepOnly(int pages) {
    seen = Math.min(seen, pages);
    stayed = Math.min(stayed, pages);
    owned = Math.min(owned, pages);
  }

  /** Whether a page that has stayed may have no memory of its own, and may be copied now. */
  boolean hasNext(long nowNanos) {
    return owned < stayed && !restsFromFailure(nowNanos);
  }

  /** The first of those. */
  int next() {
    return owned;
  }

  /** That one has been found to have memory of its own. */
  void nextIsOwned() {
    owned++;
    failures = 0;
  }

  /** A page could not be copied. */
  void failed(long nowNanos) {
    failedNanos = nowNanos;
    failures++;
  }

  private boolean restsFromFailure(long nowNanos) {
    long rest = FIRST_REST.toNanos() << Math.min(failures - 1, MOST_DOUBLINGS);
    return failures > 0 && nowNanos - failedNanos < rest;
  }
}
