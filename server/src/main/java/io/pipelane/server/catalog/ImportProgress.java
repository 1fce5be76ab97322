package io.pipelane.server.catalog;

import java.time.Duration;
import java.util.Optional;

/**
 * How far the first imports of what is new have come, in a line for the log now and then. Guarded
 * by itself.
 */
final class ImportProgress {
  /** Between two lines. */
  static final Duration INTERVAL = Duration.ofMinutes(1);

  private static final Duration SHOWN_IN_SECONDS = Duration.ofMinutes(2);

  private final long begunNanos;
  private long toldNanos;
  private int total;
  private boolean isCounted;
  private int done;

  /**
   * Nothing is found, nor done.
   *
   * @param nanos the time now
   */
  ImportProgress(long nanos) {
    this.begunNanos = nanos;
    this.toldNanos = nanos;
  }

  /** One more is to be imported. */
  synchronized void add() {
    total++;
  }

  /** All that are to be imported have been added; answers how many they are. */
  synchronized int count() {
    isCounted = true;
    return total;
  }

  /** One more is imported, or refused; answers a line when it is time for one. */
  synchronized Optional<String> advance(long nanos) {
    done++;
    if (!isCounted || done >= total || nanos - toldNanos < INTERVAL.toNanos()) {
      return Optional.empty();
    }
    toldNanos = nanos;
    Duration taken = Duration.ofNanos(nanos - begunNanos);
    Duration left = taken.multipliedBy(total - done).dividedBy(done);
    return Optional.of(
        "%d of %d versions are imported, in %s; the others will take about %s"
            .formatted(done, total, text(taken), text(left)));
  }

  /** A time in words, to the second if it is short, or else to the minute. */
  static String text(Duration time) {
    return time.compareTo(SHOWN_IN_SECONDS) < 0
        ? time.toSeconds() + " s"
        : Math.round(time.toSeconds() / 60.0) + " minutes";
  }
}
