package io.pipelane.switcher.schedule.queue;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.RunKey;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The rule that says which requests cannot be answered in time, and what they are told. Safe for
 * any thread; nothing here waits.
 */
record Deadlines(Estimates estimates) {
  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);
  private static final Duration LONGEST_RETRY_AFTER = Duration.ofMinutes(1);
  private static final double NANOS_PER_MILLI = 1e6;

  /**
   * Whether a request cannot be answered in time even if it ran now, and everything went well.
   *
   * <p>The best time counts, and the least stall, not the usual ones: a request that is refused
   * says nothing new, so an estimate that is too long for a model's requests must not keep them out
   * for good. So the best time counts for less and less while nothing runs.
   */
  boolean isTooLate(QueuedRequest queued, long nowNanos) {
    OptionalLong deadline = queued.request().deadlineNanos();
    return deadline.isPresent()
        && deadline.getAsLong() - nowNanos
            < estimates.leastStallNanos(queued.key())
                + estimates.history().of(queued.key()).leastNanos(nowNanos);
  }

  /** Whether a request whose turn has come has waited longer for it than its model's may. */
  boolean hasWaitedTooLong(QueuedRequest queued, long nowNanos) {
    Optional<Duration> longest = queued.line().queueTimeout();
    return longest.isPresent()
        && queued.request().priority() == Priority.ONLINE
        && nowNanos - queued.submittedNanos() > longest.get().toNanos();
  }

  /** Why a request that {@link #hasWaitedTooLong} is not run. */
  StatusException waitedTooLong(QueuedRequest queued, long nowNanos) {
    return StatusException.unavailable(
        "this request for %s has waited %s ms for its turn, default_timeout_microseconds of its model is %s ms; send it when there is less to do"
            .formatted(
                queued.key().model(),
                milliseconds(nowNanos - queued.submittedNanos()),
                milliseconds(queued.line().queueTimeout().orElseThrow().toNanos())));
  }

  /** Whether a request that is refused for its deadline might be in time if weights were there. */
  boolean lacksWeights(QueuedRequest queued, long nowNanos) {
    RunKey key = queued.key();
    return estimates.stallNanos(key) > 0
        && queued.request().deadlineNanos().orElseThrow() - nowNanos
            >= estimates.history().of(key).leastNanos(nowNanos);
  }

  /** Why a request that {@link #isTooLate} is not run. */
  StatusException tooLate(QueuedRequest queued, long nowNanos) {
    long left = queued.request().deadlineNanos().orElseThrow() - nowNanos;
    long stall = estimates.stallNanos(queued.key());
    long remaining = stall + estimates.executionNanos(queued.key());
    String message =
        left > 0
            ? "%s needs about %s ms, and its timeout leaves %s ms"
                .formatted(queued.key().model(), milliseconds(remaining), milliseconds(left))
            : "the timeout of this request for %s has passed, %s ms ago%s"
                .formatted(
                    queued.key().model(),
                    milliseconds(-left),
                    remaining > 0 ? "; it needs about " + milliseconds(remaining) + " ms" : "");
    boolean helpsToWait = left <= 0 || stall > 0;
    return tooLate(message, helpsToWait ? retryAfter(remaining - left) : RETRY_AFTER);
  }

  /**
   * Why a request is not taken that is in time alone, and not behind others.
   *
   * @param beginNanos how long those others take at least
   * @param allNanos how long all take that waits or runs
   */
  StatusException tooLateBehind(
      QueuedRequest queued, long nowNanos, long beginNanos, long allNanos) {
    long left = queued.request().deadlineNanos().orElseThrow() - nowNanos;
    long remaining = estimates.remainingNanos(queued.key());
    String message =
        "%s needs %s behind at least %s ms of what goes before it, and its timeout leaves %s ms"
            .formatted(
                queued.key().model(),
                remaining > 0 ? "about " + milliseconds(remaining) + " ms" : "some time",
                milliseconds(beginNanos),
                milliseconds(left));
    return tooLate(message, retryAfter(allNanos + remaining - left));
  }

  private static StatusException tooLate(String message, Duration retryAfter) {
    return StatusException.unavailable(
        message + "; raise the timeout, or send it when there is less to do", retryAfter);
  }

  /** When what is too much now will have been done. */
  private static Duration retryAfter(long tooMuchNanos) {
    Duration retryAfter = Duration.ofNanos(Math.max(1, tooMuchNanos));
    return retryAfter.compareTo(LONGEST_RETRY_AFTER) < 0 ? retryAfter : LONGEST_RETRY_AFTER;
  }

  /** With the digits that say something of it: many runs take less than a tenth of one. */
  private static String milliseconds(long nanos) {
    String format = Math.abs(nanos) < NANOS_PER_MILLI ? "%.3f" : "%.1f";
    return String.format(Locale.ROOT, format, nanos / NANOS_PER_MILLI);
  }
}
