package io.pipelane.lanes.process;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * How long a process may leave a message that it is told. Belongs to the thread that waits; times
 * are of the system's clock.
 */
final class UnreadTime {
  /*
   * A process that is stopped as a whole takes nothing, whatever it is told, and is not waited for
   * as long as for an answer. One that has hardly a processor takes its time, too, above all for
   * its first message, and uses what it gets: to end it would have its successor want even more.
   */
  private static final Duration STOPPED = Duration.ofSeconds(5);

  /** A virtual machine that does nothing uses less than such a part of a processor. */
  private static final long IDLE_PART = 100;

  private final Duration patience;
  private final LongSupplier usedNanos;
  private long toldNanos;
  private long sinceNanos;
  private long usedBefore;
  private boolean isWatched;

  /**
   * Nothing is told yet.
   *
   * @param patience the longest, whatever the process does
   * @param usedNanos the processor time that the process has used
   */
  UnreadTime(Duration patience, LongSupplier usedNanos) {
    this.patience = patience;
    this.usedNanos = usedNanos;
  }

  /** The process is told something now. */
  void begin(long nowNanos) {
    toldNanos = nowNanos;
    isWatched = false;
  }

  /** Whether it has left it for too long. */
  boolean isOver(long nowNanos) {
    if (!isWatched) {
      isWatched = true;
      sinceNanos = toldNanos;
      usedBefore = usedNanos.getAsLong();
    }
    long passed = nowNanos - sinceNanos;
    if (nowNanos - toldNanos > patience.toNanos()) {
      return true;
    }
    if (passed <= STOPPED.toNanos()) {
      return false;
    }
    long used = usedNanos.getAsLong();
    boolean isStopped = used - usedBefore < passed / IDLE_PART;
    sinceNanos = nowNanos;
    usedBefore = used;
    return isStopped;
  }

  /** How long it has left it. */
  Duration passed(long nowNanos) {
    return Duration.ofSeconds(Duration.ofNanos(nowNanos - toldNanos).toSeconds());
  }
}
