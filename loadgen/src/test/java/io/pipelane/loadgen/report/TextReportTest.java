package io.pipelane.loadgen.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.loadgen.experiment.MeasuredRun;
import io.pipelane.loadgen.experiment.Runs;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.ModelReport;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class TextReportTest {
  private static ModelReport model(int number) {
    Histogram times = new Histogram(3);
    return new ModelReport("m" + number + "-", number, number, times, times, null, List.of());
  }

  private static String printed(int models) {
    LoadReport one = Runs.of(1_000_000).report();
    LoadReport report =
        new LoadReport(
            one.total(),
            IntStream.range(0, models).mapToObj(TextReportTest::model).toList(),
            one.window(),
            one.sends(),
            one.lagNanos(),
            one.pauses(),
            one.slices(),
            one.cpu(),
            null,
            List.of(),
            List.of());
    StringWriter text = new StringWriter();
    new TextReport(new PrintWriter(text), false, null, ModelClasses.NONE)
        .print(new MeasuredRun(1, report, Map.of()));
    return text.toString();
  }

  @Test
  void modelsThatAreAskedLess_areCountedOnly() {
    String text = printed(300);
    assertFalse(text.contains("m279-"), text);
    assertTrue(text.indexOf("m280-") < text.indexOf("m299-"), text);
    assertEquals(20, text.lines().filter(line -> line.startsWith("m2")).count(), text);
    assertTrue(text.contains("and 280 others, asked no more than these"), text);
  }

  @Test
  void fewModels_areAllShown() {
    String text = printed(20);
    assertTrue(text.contains("m0-") && !text.contains("others"), text);
  }
}
