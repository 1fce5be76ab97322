package io.pipelane.loadgen.experiment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.loadgen.report.SummaryTable;
import io.pipelane.loadgen.result.ClientCpu;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.ModelReport;
import io.pipelane.loadgen.result.Pauses;
import io.pipelane.loadgen.result.SendCounts;
import io.pipelane.loadgen.settings.LoadMode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class StepTest {
  private static MeasuredRun run(long... nanos) {
    Histogram times = new Histogram(3);
    for (long each : nanos) {
      times.recordValue(each);
    }
    ModelReport total =
        new ModelReport("all", nanos.length, nanos.length, times, times, null, List.of());
    LoadReport report =
        new LoadReport(
            total,
            List.of(),
            Duration.ofSeconds(1),
            new SendCounts(nanos.length, 0, 0, 0, 0, 0),
            new Histogram(3),
            new Pauses(0, Duration.ZERO, Duration.ZERO, Duration.ZERO),
            List.of(),
            ClientCpu.NONE,
            null,
            List.of(),
            List.of());
    return new MeasuredRun(1, report, Map.of());
  }

  private static Step step(MeasuredRun... runs) {
    return new Step(new LoadMode.Closed(1), List.of(runs));
  }

  @Test
  void responseNanos_runWithoutAnswers_isLeftOut() {
    Estimate estimate = step(run(1000), run(), run(1000)).responseNanos(99);

    assertEquals(1000, estimate.mean());
    assertEquals(2, estimate.runs());
    assertEquals(2.0 / 3, step(run(1000), run(), run(1000)).answersPerSecond().mean(), 1e-9);
  }

  @Test
  void print_noRunHadAnswers_saysNoTime() {
    StringWriter out = new StringWriter();
    SummaryTable.print(
        new PrintWriter(out), new Experiment(List.of(step(run(), run())), List.of()));

    String line = out.toString().lines().filter(each -> each.contains("0.000")).findFirst().get();
    assertEquals(
        3,
        IntStream.range(0, line.length() - 2).filter(i -> line.startsWith(" - ", i)).count(),
        line);
    assertTrue(!line.contains("NaN"), line);
  }
}
