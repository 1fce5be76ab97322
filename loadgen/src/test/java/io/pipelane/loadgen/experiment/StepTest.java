package io.pipelane.loadgen.experiment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.loadgen.report.SummaryTable;
import io.pipelane.loadgen.settings.LoadMode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class StepTest {
  private static Step step(MeasuredRun... runs) {
    return new Step(new LoadMode.Closed(1), List.of(runs));
  }

  @Test
  void responseNanos_runWithoutAnswers_isLeftOut() {
    Estimate estimate = step(Runs.of(1000), Runs.of(), Runs.of(1000)).responseNanos(99);

    assertEquals(1000, estimate.mean());
    assertEquals(2, estimate.runs());
    assertEquals(
        2.0 / 3, step(Runs.of(1000), Runs.of(), Runs.of(1000)).answersPerSecond().mean(), 1e-9);
  }

  @Test
  void print_noRunHadAnswers_saysNoTime() {
    StringWriter out = new StringWriter();
    SummaryTable.print(
        new PrintWriter(out), new Experiment(List.of(step(Runs.of(), Runs.of())), List.of()));

    String line = out.toString().lines().filter(each -> each.contains("0.000")).findFirst().get();
    assertEquals(
        3,
        IntStream.range(0, line.length() - 2).filter(i -> line.startsWith(" - ", i)).count(),
        line);
    assertTrue(!line.contains("NaN"), line);
  }
}
