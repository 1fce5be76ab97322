package io.pipelane.switcher.sharing;

import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * The number of a device's online requests that had to be answered by a time, and of those that
 * were. Safe for any thread.
 */
public final class ObjectiveCounts {
  private final LongAdder met = new LongAdder();
  private final LongAdder missed = new LongAdder();

  /**
   * Counts an online request once it has ended here, if it has to be answered by a time.
   *
   * @param nanoClock as its deadline is
   * @return to be told the end
   */
  public ResultHandler judging(
      InferenceRequest request, ResultHandler handler, LongSupplier nanoClock) {
    return request.deadlineNanos().isEmpty()
        ? handler
        : new JudgedAnswer(handler, this, request.deadlineNanos().getAsLong(), nanoClock);
  }

  void judged(boolean isMet) {
    (isMet ? met : missed).increment();
  }

  Attainment.Objectives soFar() {
    long metSoFar = met.sum();
    return new Attainment.Objectives(metSoFar, metSoFar + missed.sum());
  }
}
