package io.pipelane.switcher.sharing;

import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * The number of a device's online requests that their model's owner wanted to be answered by a
 * time, and of those that were. Callers may ask for whatever time they like, which tells nothing of
 * the device. Safe for any thread.
 */
public final class ObjectiveCounts {
  private final LongAdder met = new LongAdder();
  private final LongAdder missed = new LongAdder();

  /**
   * Counts an online request with an objective once it has ended here.
   *
   * @param nanoClock as its deadline is
   * @return to be told the end
   */
  public ResultHandler judging(
      InferenceRequest request, ResultHandler handler, LongSupplier nanoClock) {
    return request.deadline().isObjective()
        ? new JudgedAnswer(handler, this, request.deadlineNanos().orElseThrow(), nanoClock)
        : handler;
  }

  void judged(boolean isMet) {
    (isMet ? met : missed).increment();
  }

  /** Since the start. */
  public Attainment.Objectives soFar() {
    long metSoFar = met.sum();
    return new Attainment.Objectives(metSoFar, metSoFar + missed.sum());
  }
}
