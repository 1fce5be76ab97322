package io.pipelane.lanes.process;

import java.time.Duration;

/**
 * The pauses before workers are started again: each failure in a row doubles the next, and some of
 * them take the hope. Belongs to the supervisor's thread; times are of the system's clock.
 */
final class StartPauses {
  static final Duration FIRST = Duration.ofMillis(100);

  /** Starting a process takes a processor; who takes over may have it first. */
  static final Duration HAND_OVER = Duration.ofMillis(250);

  static final int FAILURES_UNTIL_HOPELESS = 3;
  private static final int MOST_DOUBLINGS = 7;

  private int failures;
  private long dueNanos;

  /** The first worker may be started. */
  StartPauses(long nowNanos) {
    dueNanos = nowNanos;
  }

  /** How long the next start has to wait; nothing or less when it may be. */
  long leftNanos(long nowNanos) {
    return dueNanos - nowNanos;
  }

  void failed(long nowNanos) {
    dueNanos = nowNanos + (FIRST.toNanos() << failures);
    failures = Math.min(failures + 1, MOST_DOUBLINGS);
  }

  void succeeded() {
    failures = 0;
  }

  /** Another worker takes over. */
  void handedOver(long nowNanos) {
    dueNanos = nowNanos + HAND_OVER.toNanos();
  }

  /** Nobody is there: one is started at once, whatever failed before. */
  void beginAnew(long nowNanos) {
    failures = 0;
    dueNanos = nowNanos;
  }

  /** How many starts in a row have failed; no more than are counted. */
  int failures() {
    return failures;
  }

  boolean areHopeless() {
    return failures >= FAILURES_UNTIL_HOPELESS;
  }
}
