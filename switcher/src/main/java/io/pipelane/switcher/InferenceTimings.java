package io.pipelane.switcher;

import io.pipelane.modelstore.ModelVersion;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where the time of one answered request went.
 *
 * @param queueNanos from submission to the start of its run
 * @param stallNanos of the run, waiting for weights to arrive
 * @param executeNanos the run, stall included
 * @param batch how many requests ran together
 * @param place which of those this is that were answered, from 0: a run answered at all has a first
 * @param segmentNanos how long each of the run's segments computed; nobody changes it. Null where
 *     the run has not told
 * @param steps of a request that was several, one after another; empty for all others, and where
 *     nobody would look at them
 */
@SuppressWarnings("ArrayRecordComponent") // as the run has measured it, without a copy
public record InferenceTimings(
    long queueNanos,
    long stallNanos,
    long executeNanos,
    int batch,
    int place,
    long @Nullable [] segmentNanos,
    List<Step> steps) {

  /**
   * A step of a request that was several; times are {@link System#nanoTime}'s.
   *
   * @param beganNanos when it was submitted
   * @param endedNanos when it was done
   */
  public record Step(
      ModelVersion model, long beganNanos, long endedNanos, InferenceTimings timings) {}

  public InferenceTimings {
    steps = List.copyOf(steps);
  }

  /** Of a request that has not told what its run was made of. */
  public InferenceTimings(
      long queueNanos, long stallNanos, long executeNanos, int batch, int place) {
    this(queueNanos, stallNanos, executeNanos, batch, place, null, List.of());
  }

  /** The same of one that ran alone. */
  public InferenceTimings(long queueNanos, long stallNanos, long executeNanos) {
    this(queueNanos, stallNanos, executeNanos, 1, 0);
  }

  /** Of a request that ran alone. */
  public InferenceTimings(
      long queueNanos, long stallNanos, long executeNanos, long @Nullable [] segmentNanos) {
    this(queueNanos, stallNanos, executeNanos, 1, 0, segmentNanos, List.of());
  }

  /**
   * How long its run computed, without what it waited for weights, shared out over its requests.
   */
  public long computedNanos() {
    return Math.max(0, executeNanos - stallNanos) / batch;
  }

  /** Of one of the requests of a run, which has waited for so long. */
  public InferenceTimings of(long queueNanos, int batch, int place) {
    return new InferenceTimings(
        queueNanos, stallNanos, executeNanos, batch, place, segmentNanos, steps);
  }

  /** The same of a request that was these steps. */
  public InferenceTimings of(List<Step> steps) {
    return new InferenceTimings(
        queueNanos, stallNanos, executeNanos, batch, place, segmentNanos, steps);
  }
}
