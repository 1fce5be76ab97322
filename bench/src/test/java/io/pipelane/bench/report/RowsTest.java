package io.pipelane.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

class RowsTest {
  private static final Column RATE = new Column("rate_per_s", "rate /s", 1);

  private final Results results = new Results("A title", List.of(RATE), List.of());
  private final StringWriter complaints = new StringWriter();
  private final Rows rows = new Rows(spec(), results);

  private CommandSpec spec() {
    CommandSpec spec = CommandSpec.create();
    new CommandLine(spec)
        .setOut(new PrintWriter(new StringWriter()))
        .setErr(new PrintWriter(complaints));
    return spec;
  }

  @Test
  void measure_whenARowFails_measuresTheNextAndEndsNotWell() throws Exception {
    rows.measure(
        "one",
        () -> {
          throw new IllegalStateException("no room");
        });
    rows.measure("another", () -> results.add("another", RATE, 2));

    assertEquals(
        List.of(
            List.of("case", "rate /s"),
            List.of("one, failed: no room", "-"),
            List.of("another", "2.0")),
        results.table());
    assertEquals(1, rows.status());
    assertTrue(complaints.toString().contains("IllegalStateException: no room"));
  }

  @Test
  void measure_whenAllIsWell_endsWell() throws Exception {
    rows.measure("one", () -> results.add("one", RATE, 2));

    assertEquals(0, rows.status());
  }

  @Test
  void measure_whenInterrupted_stops() {
    assertThrows(
        InterruptedException.class,
        () ->
            rows.measure(
                "one",
                () -> {
                  throw new InterruptedException();
                }));
    assertEquals(1, results.table().size());
  }

  @Test
  void missing_isOneShortLine() {
    rows.missing("one: " + "x".repeat(200) + "\nmore");

    String row = results.table().get(1).getFirst();
    assertEquals("one: " + "x".repeat(115) + " ...", row);
  }
}
