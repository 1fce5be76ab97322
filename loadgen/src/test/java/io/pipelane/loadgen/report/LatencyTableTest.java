package io.pipelane.loadgen.report;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class LatencyTableTest {
  private final StringWriter out = new StringWriter();
  private final Histogram nanos = new Histogram(3);

  @Test
  void line_nothingAnswered_showsNoLatencies() {
    assertEquals(List.of("service", "-", "-", "-", "-", "-", "-", "-"), line());
  }

  @Test
  void line_oneAnswer_isAllOfItsLatencies() {
    nanos.recordValue(1_000_000);

    assertEquals(
        List.of("service", "1.000", "1.000", "1.000", "1.000", "1.000", "1.000", "1.000"), line());
  }

  private List<String> line() {
    PrintWriter writer = new PrintWriter(out);
    new LatencyTable(writer, 5).line("", "service", null, nanos);
    writer.flush();
    return List.of(out.toString().strip().split(" +", -1));
  }
}
