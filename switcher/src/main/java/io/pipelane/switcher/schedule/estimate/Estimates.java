package io.pipelane.switcher.schedule.estimate;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;

/**
 * Estimates of the time that requests still need: their wait for weights, as things stand now, and
 * their run. Safe for any thread; nothing here waits.
 */
public final class Estimates {
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
  public long stallNanos(RunKey key) {
    return stallNanos.applyAsLong(key.model());
  }

  /** What it will lose so for certain, whenever it begins. */
  public long leastStallNanos(RunKey key) {
    return leastStallNanos.applyAsLong(key.model());
  }

  /** What a run loses at most that has to have its weights brought in again. */
  public long wholeStallNanos(RunKey key) {
    return wholeStallNanos.applyAsLong(key.model());
  }

  /** The usual time of a run, without its stall; 0 for one that is not known. */
  public long executionNanos(RunKey key) {
    return history.of(key).usualNanos();
  }

  /** The usual time of a request's run, without its stall; 0 for one that is not known. */
  public long executionNanos(InferenceRequest request) {
    return executionNanos(RunKey.of(request));
  }

  /** The median of the latest runs' times, without stalls; 0 until a few have been seen. */
  public long medianNanos(RunKey key) {
    return history.of(key).medianNanos();
  }

  /** What a run is known to take of its lane; 0 for one that is not known. */
  public long ephemeralBytes(RunKey key) {
    return history.of(key).peakBytes();
  }

  /** What runs took. */
  public RunHistory history() {
    return history;
  }

  /** Stall and run. */
  public long remainingNanos(RunKey key) {
    return stallNanos(key) + executionNanos(key);
  }

  /**
   * Learns from a run that has ended well.
   *
   * @param estimatedNanos what was expected of it when it began
   * @param expectedStallNanos the part of that for weights
   * @param executeNanos what it took, stall included
   * @param stallNanos how much of that it is known to have waited
   */
  public void ran(
      RunKey key,
      long estimatedNanos,
      long expectedStallNanos,
      long executeNanos,
      long stallNanos) {
    ran(history.toTell(key), estimatedNanos, expectedStallNanos, executeNanos, stallNanos);
  }

  /** The same of a run that was like some others. */
  public void ran(
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
  public void learn(RunKey key, long runNanos) {
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
  public void answered(long expectedNanos, long tookNanos) {
    if (tookNanos > 0) {
      answerErrors.observed(expectedNanos, tookNanos);
    }
  }

  /** The median of |estimate - actual| / actual of the latest times to an answer, as of some. */
  public double medianAnswerError() {
    return answerErrors.median();
  }

  /** Forgets what a model's runs took. */
  public void forget(ModelVersion model) {
    history.forget(model);
  }
}
