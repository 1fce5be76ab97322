package io.pipelane.switcher.schedule;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import java.time.Duration;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;

/**
 * Estimates of the time that requests still need: their wait for weights, as things stand now, and
 * their run. Safe for any thread; nothing here waits.
 */
public final class Estimates {
  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);
  private static final Duration LONGEST_RETRY_AFTER = Duration.ofMinutes(1);
  private static final double NANOS_PER_MILLI = 1e6;

  private final ToLongFunction<ModelVersion> stallNanos;
  private final ToLongFunction<ModelVersion> leastStallNanos;
  private final ToLongFunction<ModelVersion> wholeStallNanos;
  private final LongSupplier nanoClock;
  private final RunHistory history = new RunHistory();
  private final EstimateErrors errors = new EstimateErrors();
  private final EstimateErrors answerErrors = new EstimateErrors();

  /**
   * Knows nothing of runs yet.
   *
   * @param stallNanos what a run of a model would lose by missing weights if it began now, which is
   *     certain; asked often
   */
  public Estimates(ToLongFunction<ModelVersion> stallNanos) {
    this(stallNanos, stallNanos, stallNanos, System::nanoTime);
  }

  /**
   * The same.
   *
   * @param leastStallNanos the part of it that is certain. Where weights come with runs alone none
   *     is: they come also when a request is refused on account of them, or all would be
   * @param wholeStallNanos what it would be if nothing of the weights were there
   * @param nanoClock as the requests' deadlines are
   */
  public Estimates(
      ToLongFunction<ModelVersion> stallNanos,
      ToLongFunction<ModelVersion> leastStallNanos,
      ToLongFunction<ModelVersion> wholeStallNanos,
      LongSupplier nanoClock) {
    this.stallNanos = stallNanos;
    this.wholeStallNanos = wholeStallNanos;
    this.leastStallNanos = leastStallNanos;
    this.nanoClock = nanoClock;
  }

  /** What a run would lose by missing weights if it began now. */
  long stallNanos(RunKey key) {
    return stallNanos.applyAsLong(key.model());
  }

  /** What it will lose so for certain, whenever it begins. */
  long leastStallNanos(RunKey key) {
    return leastStallNanos.applyAsLong(key.model());
  }

  /** What a run loses at most that has to have its weights brought in again. */
  long wholeStallNanos(RunKey key) {
    return wholeStallNanos.applyAsLong(key.model());
  }

  /** The usual time of a run, without its stall; 0 for one that is not known. */
  long executionNanos(RunKey key) {
    return history.of(key).usualNanos();
  }

  /** The usual time of a request's run, without its stall; 0 for one that is not known. */
  public long executionNanos(InferenceRequest request) {
    return executionNanos(RunKey.of(request));
  }

  /** The median of the latest runs' times, without stalls; 0 until a few have been seen. */
  long medianNanos(RunKey key) {
    return history.of(key).medianNanos();
  }

  /** What a run is known to take of its lane; 0 for one that is not known. */
  long ephemeralBytes(RunKey key) {
    return history.of(key).peakBytes();
  }

  /** What runs took. */
  RunHistory history() {
    return history;
  }

  /** Stall and run. */
  long remainingNanos(RunKey key) {
    return stallNanos(key) + executionNanos(key);
  }

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
            < leastStallNanos(queued.key()) + history.of(queued.key()).leastNanos(nowNanos);
  }

  /** Whether a request that is refused for its deadline might be in time if weights were there. */
  boolean lacksWeights(QueuedRequest queued, long nowNanos) {
    RunKey key = queued.key();
    return stallNanos(key) > 0
        && queued.request().deadlineNanos().orElseThrow() - nowNanos
            >= history.of(key).leastNanos(nowNanos);
  }

  /** Why a request that {@link #isTooLate} is not run. */
  StatusException tooLate(QueuedRequest queued, long nowNanos) {
    long left = queued.request().deadlineNanos().orElseThrow() - nowNanos;
    long stall = stallNanos(queued.key());
    long remaining = stall + executionNanos(queued.key());
    String needed = milliseconds(remaining);
    String message =
        left > 0
            ? "%s needs about %s ms, and its timeout leaves %s ms"
                .formatted(queued.key().model(), needed, milliseconds(left))
            : "the timeout of this request for %s has passed, %s ms ago; it needs about %s ms"
                .formatted(queued.key().model(), milliseconds(-left), needed);
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
    long remaining = remainingNanos(queued.key());
    String message =
        "%s needs about %s ms behind at least %s ms of what goes before it, and its timeout leaves %s ms"
            .formatted(
                queued.key().model(),
                milliseconds(remaining),
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

  /**
   * Learns from a run that has ended well.
   *
   * @param estimatedNanos what was expected of it when it began
   * @param expectedStallNanos the part of that for weights
   * @param executeNanos what it took, stall included
   * @param stallNanos how much of that it is known to have waited
   */
  void ran(
      RunKey key,
      long estimatedNanos,
      long expectedStallNanos,
      long executeNanos,
      long stallNanos) {
    ran(history.toTell(key), estimatedNanos, expectedStallNanos, executeNanos, stallNanos);
  }

  /** The same of a run that was like some others. */
  void ran(
      PastRuns past,
      long estimatedNanos,
      long expectedStallNanos,
      long executeNanos,
      long stallNanos) {
    long usual = past.usualNanos();
    if (usual > 0 && executeNanos > 0) {
      errors.observed(estimatedNanos, executeNanos);
    }
    long computed = Math.max(1, executeNanos - stallNanos);
    long now = nanoClock.getAsLong();
    if (expectedStallNanos == 0) {
      past.ran(computed, now);
    } else {
      past.ranCold(computed, now);
    }
  }

  /** Makes known what runs of a kind take, as a few of them would: nothing runs in a simulator. */
  void learn(RunKey key, long runNanos) {
    history.toTell(key).learn(Math.max(1, runNanos), nanoClock.getAsLong());
  }

  /** The median of |estimate - actual| / actual over the latest runs. */
  public double medianError() {
    return errors.median();
  }

  /**
   * A request has been answered well.
   *
   * @param expectedNanos what that was thought to take when it came, its wait in line included
   * @param tookNanos what it took
   */
  void answered(long expectedNanos, long tookNanos) {
    if (tookNanos > 0) {
      answerErrors.observed(expectedNanos, tookNanos);
    }
  }

  /** The median of |estimate - actual| / actual of the latest times to an answer, as of some. */
  public double medianAnswerError() {
    return answerErrors.median();
  }

  void forget(ModelVersion model) {
    history.forget(model);
  }

  private static String milliseconds(long nanos) {
    return String.format(Locale.ROOT, "%.1f", nanos / NANOS_PER_MILLI);
  }
}
