package io.pipelane.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.bench.measure.PairedRounds;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportTest {
  private static final Column RATE = new Column("rate_per_s", "rate /s", 1);
  private static final Column LATENCY = new Column("latency_ms", "ms", 2);

  private final Results results =
      new Results("A title", List.of(RATE, LATENCY), List.of("How to read it."));
  private final Report report =
      new Report(results, List.of(), "1.2.3", Map.of(), Map.of("rounds", "3"), "bin/x");

  @TempDir private Path folder;

  @BeforeEach
  void measure() {
    results.add("one", RATE, 3);
    results.add("one", RATE, 100);
    results.add("one", RATE, 4);
    results.add("another", RATE, 1);
    results.add("another", RATE, 2);
  }

  @Test
  void print_showsMediansUnderTheirHeadings() {
    StringWriter text = new StringWriter();

    report.print(new PrintWriter(text));

    String expected =
        """
        case     rate /s  ms
        one          4.0   -
        another      1.5   -

        How to read it.
        """;
    assertTrue(text.toString().startsWith("A title\n"), text.toString());
    assertTrue(text.toString().endsWith(expected), text.toString());
  }

  @Test
  void table_hasAimsInBracketsBehindMedians() {
    results.aim("one", RATE, ">= 5");

    assertEquals(List.of("one", "4.0 (>= 5)", "-"), results.table().get(1));
  }

  @Test
  void interval_standsInPlaceOfTheMedianAndBesideItInJson() throws Exception {
    results.interval("one", RATE, new PairedRounds.Interval(4.25, 3.5, 5));

    assertEquals(List.of("one", "4.3 (3.5 to 5.0)", "-"), results.table().get(1));
    Path file = folder.resolve("report.json");
    report.writeJson(file);
    JsonNode rate = new ObjectMapper().readTree(file.toFile()).at("/cases/0/rate_per_s");
    assertEquals(4, rate.at("/median").asDouble());
    assertEquals(4.25, rate.at("/together").asDouble());
    assertEquals("[3.5,5.0]", rate.at("/interval_95").toString());
  }

  @Test
  void writeJson_keepsEveryRound() throws Exception {
    Path file = folder.resolve("report.json");

    report.writeJson(file);

    JsonNode root = new ObjectMapper().readTree(file.toFile());
    assertEquals("1.2.3", root.at("/provenance/onnxruntime").asText());
    assertEquals("3", root.at("/flags/rounds").asText());
    assertEquals("one", root.at("/cases/0/case").asText());
    assertEquals(4, root.at("/cases/0/rate_per_s/median").asDouble());
    assertEquals("[3.0,100.0,4.0]", root.at("/cases/0/rate_per_s/rounds").toString());
  }

  @Test
  void writeMarkdown_isAPageWithTheTable() throws Exception {
    Path file = folder.resolve("page.md");

    report.writeMarkdown(file);

    String page = Files.readString(file);
    assertTrue(page.startsWith("# A title\n\n| case | rate /s | ms |\n|---|---:|---:|\n"), page);
    assertTrue(page.contains("| one | 4.0 | - |\n"), page);
    assertTrue(page.contains("- How to read it.\n"), page);
    assertTrue(page.contains("| onnxruntime | 1.2.3 |\n"), page);
    assertTrue(page.endsWith("\nMade by:\n\n    bin/x\n"), page);
  }
}
