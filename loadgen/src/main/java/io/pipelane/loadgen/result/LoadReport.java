package io.pipelane.loadgen.result;

import java.time.Duration;
import java.util.List;

/**
 * What a load test measured.
 *
 * @param total all models together, and errors that belong to none
 * @param models in the test's order
 * @param window the measured time; a test with a request limit ends it with the last answer
 * @param cpu used within the window
 * @param warnings reasons to distrust the figures
 */
public record LoadReport(
    ModelReport total,
    List<ModelReport> models,
    Duration window,
    SendCounts sends,
    ClientCpu cpu,
    List<String> warnings) {
  public LoadReport {
    models = List.copyOf(models);
    warnings = List.copyOf(warnings);
  }

  /** Whether every measured request was answered well. */
  public boolean isClean() {
    return total.errorCount() == 0;
  }
}
