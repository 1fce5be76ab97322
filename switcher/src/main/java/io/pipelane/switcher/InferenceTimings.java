package io.pipelane.switcher;

/**
 * Where the time of one answered request went.
 *
 * @param queueNanos from submission to the start of its run
 * @param stallNanos of the run, waiting for weights to arrive
 * @param executeNanos the run, stall included
 * @param batch how many requests ran together
 * @param place which of those this is that were answered, from 0: a run answered at all has a first
 */
public record InferenceTimings(
    long queueNanos, long stallNanos, long executeNanos, int batch, int place) {

  /** Of a request that ran alone. */
  public InferenceTimings(long queueNanos, long stallNanos, long executeNanos) {
    this(queueNanos, stallNanos, executeNanos, 1, 0);
  }
}
