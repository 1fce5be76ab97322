package io.pipelane.loadgen.result;

import java.util.List;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The results for one model, or for all together.
 *
 * @param answered requests meant to leave within the window and answered without an error; the
 *     histograms hold exactly these
 * @param perSecond good answers that came within the window, whenever they were asked for, over its
 *     length
 * @param responseNanos from the time a request was meant to leave to the last byte of its answer
 * @param serviceNanos from the time it did leave; equal to the former in a closed loop
 * @param warmth null when the server tells nothing of it
 */
public record ModelReport(
    String model,
    long answered,
    double perSecond,
    Histogram responseNanos,
    Histogram serviceNanos,
    @Nullable WarmthSplit warmth,
    List<ErrorCount> errors) {
  public ModelReport {
    errors = List.copyOf(errors);
  }

  /** Errors of all kinds. */
  public long errorCount() {
    return errors.stream().mapToLong(ErrorCount::count).sum();
  }
}
