package io.pipelane.loadgen;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.experiment.MeasuredRun;
import io.pipelane.loadgen.experiment.Runs;
import io.pipelane.loadgen.experiment.Step;
import io.pipelane.loadgen.result.ErrorCount;
import io.pipelane.loadgen.settings.LoadMode;
import java.util.List;
import org.junit.jupiter.api.Test;

class ExitStatusTest {
  private static final List<ErrorCount> ERRORS = List.of(new ErrorCount("HTTP 503", 2, "full"));
  private static final List<String> BOTTLENECKS = List.of("its thread was busy");

  private static ExitStatus status(MeasuredRun... runs) {
    Step step = new Step(new LoadMode.Closed(1), List.of(runs));
    return ExitStatus.of(new Experiment(List.of(step), List.of()));
  }

  @Test
  void of_errorsAndAGeneratorThatIsTheBottleneck_areErrors() {
    assertEquals(ExitStatus.ERRORS, status(Runs.of(ERRORS, BOTTLENECKS, 1000)));
    assertEquals(
        ExitStatus.ERRORS,
        status(Runs.of(ERRORS, List.of(), 1000), Runs.of(List.of(), BOTTLENECKS, 1000)));
  }

  @Test
  void of_oneOfThem_isWhatItIs() {
    assertEquals(ExitStatus.OK, status(Runs.of(1000)));
    assertEquals(ExitStatus.ERRORS, status(Runs.of(ERRORS, List.of(), 1000)));
    assertEquals(ExitStatus.BOTTLENECK, status(Runs.of(List.of(), BOTTLENECKS, 1000)));
  }
}
