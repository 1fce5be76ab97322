package io.pipelane.bench.switching;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.bench.measure.Samples;
import io.pipelane.demo.report.TextTable;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Measurements of switching and where they come from, for people and for programs. */
final class SwitchReport {
  static final String TITLE = "Switching models";
  private static final double[] QUANTILES = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1};
  private static final List<String> NOTES =
      List.of(
          "Latencies are what a caller in the process sees, from submission to the answer in host"
              + " memory: medians, with means in brackets.",
          "Runs are captured once per shape and replayed, where the device can do that, unless it"
              + " says otherwise.",
          "Cold: the weights lie in host memory that the device copies from directly, and no page"
              + " of device memory is mapped for them; mapping counts.",
          "The first so many percent resident: of all the model's bytes, those that are read in place"
              + " included, in whole pages.",
          "Rows of one form take turns within a run, so that drift hits all alike.",
          "Lower bound: no segment computes before its weights have come at the link's peak rate,"
              + " nor before the segment before it is done; segments take the time they take alone.",
          "Lower bound with inputs and outputs: the request's bytes pass the same link, before and"
              + " after.",
          "Inputs and outputs lie in host memory, pinned; the plain session's outputs in ordinary"
              + " memory that it allocates.",
          "Thread and process (workers.isolation): the same requests in both, in turn, in one run; a"
              + " run in the server's process that usually takes less than 50 µs is made by the"
              + " thread that brings it. On the processor neither reads weights in place.",
          "Process minus thread: the difference of the medians, and of the 99th percentiles.",
          "Plain session: ONNX Runtime as any user would run it, inputs and outputs in host memory.");

  private final Measurements measurements;
  private final SwitchTables tables;
  private final Map<String, String> provenance;

  SwitchReport(Measurements measurements, Map<String, String> provenance) {
    this.measurements = measurements;
    this.tables = new SwitchTables(measurements);
    this.provenance = provenance;
  }

  /** Prints every table. */
  void print(PrintWriter out) {
    out.println(TITLE);
    provenance.forEach((name, value) -> out.println("  " + name + ": " + value));
    for (List<List<String>> table :
        List.of(
            tables.latencies(row -> true),
            tables.comparison(),
            tables.isolation(),
            tables.facts())) {
      out.println();
      TextTable.lines(table).forEach(out::println);
    }
    out.println();
    NOTES.forEach(out::println);
    out.flush();
  }

  /** Writes every sample and its quantiles. */
  void writeJson(Path file) throws IOException {
    ObjectMapper json = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
    ObjectNode root = json.createObjectNode().put("title", TITLE);
    root.set("provenance", json.valueToTree(provenance));
    ObjectNode models = root.putObject("models");
    measurements
        .models()
        .forEach(
            (name, measured) -> {
              ObjectNode model = models.putObject(name);
              model.set("facts", json.valueToTree(measured.facts()));
              ObjectNode rows = model.putObject("rows_ms");
              measured.rows().forEach((row, samples) -> write(rows, row, samples));
            });
    json.writeValue(file.toFile(), root);
  }

  private static void write(ObjectNode rows, Row row, Samples samples) {
    ObjectNode node = rows.putObject(row.key()).put("label", row.label());
    node.put("count", samples.count());
    if (samples.count() > 0) {
      node.put("median", samples.median()).put("mean", samples.mean());
      for (double quantile : QUANTILES) {
        node.put("p" + Math.round(quantile * 100), samples.quantile(quantile));
      }
    }
    samples.values().forEach(node.withArray("/samples")::add);
  }

  /** Writes a page for the documentation. */
  void writeMarkdown(Path file) throws IOException {
    StringBuilder page = new StringBuilder("# " + TITLE + ", " + provenance.get("device") + "\n\n");
    page.append("What was aimed at is in brackets.\n\n");
    append(page, tables.comparison());
    page.append("\n## Latencies\n\n");
    append(page, tables.latencies(row -> !isApart(row)));
    page.append("\n## One thing done otherwise\n\n");
    append(page, tables.latencies(Row.ABLATIONS::contains));
    page.append("\n## In a worker process, and in the server's\n\n");
    append(page, tables.isolation());
    page.append("\n## PyTorch on the same device\n\n");
    append(page, tables.latencies(Peer::isPeer));
    page.append("\n## Sizes and rates\n\n");
    append(page, tables.facts());
    page.append("\n## How it was measured\n\n");
    NOTES.forEach(note -> page.append("- ").append(note).append('\n'));
    page.append("\n| | |\n|---|---|\n");
    provenance.forEach((name, value) -> page.append(cells(List.of(name, value))));
    Files.writeString(file, page);
  }

  private static boolean isApart(Row row) {
    return Row.ABLATIONS.contains(row) || Row.ISOLATION.contains(row) || Peer.isPeer(row);
  }

  private static void append(StringBuilder page, List<List<String>> table) {
    if (table.size() == 1) {
      page.append("Not measured in this run.\n");
      return;
    }
    for (int row = 0; row < table.size(); row++) {
      page.append(cells(table.get(row)));
      if (row == 0) {
        page.append("|---|").append("---:|".repeat(table.getFirst().size() - 1)).append('\n');
      }
    }
  }

  private static String cells(List<String> cells) {
    return cells.stream().collect(Collectors.joining(" | ", "| ", " |\n"));
  }
}
