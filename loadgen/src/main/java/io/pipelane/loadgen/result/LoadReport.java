package io.pipelane.loadgen.result;

import java.time.Duration;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The results of a load test.
 *
 * @param total all models together, and errors that belong to none
 * @param models in the test's order
 * @param window the measured time; a test with a request limit ends it with the last answer
 * @param lagNanos how late the generator itself sent each measured request, waiting for a free
 *     connection not counted
 * @param slices the whole measurement over time, windows before the measured ones included
 * @param cpu used within the window
 * @param stability null when there was one window only
 * @param bottlenecks why the figures are the generator's rather than the server's; normally none
 * @param warnings what the figures have to be read with
 */
public record LoadReport(
    ModelReport total,
    List<ModelReport> models,
    Duration window,
    SendCounts sends,
    Histogram lagNanos,
    Pauses pauses,
    List<Slice> slices,
    ClientCpu cpu,
    @Nullable StabilityReport stability,
    List<String> bottlenecks,
    List<String> warnings) {
  public LoadReport {
    models = List.copyOf(models);
    slices = List.copyOf(slices);
    bottlenecks = List.copyOf(bottlenecks);
    warnings = List.copyOf(warnings);
  }

  /** Whether a measured request has come to an end, or a connection failed. */
  public boolean isMeasured() {
    return total.answered() > 0 || !isClean();
  }

  /** Whether every measured request was answered well, and could be sent when it was to. */
  public boolean isClean() {
    return total.errorCount() == 0 && sends.failedConnects() == 0;
  }

  /** Whether the last windows agreed, as far as that was asked for. */
  public boolean isStable() {
    return stability == null || stability.stable();
  }
}
