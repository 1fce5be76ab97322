package io.pipelane.bench.report;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.bench.measure.Medians;
import io.pipelane.bench.measure.PairedRounds.Interval;
import io.pipelane.demo.report.TextTable;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Results and where they come from, in the forms that people and programs read. */
public final class Report {
  private final Results results;
  private final List<Results> further;
  private final Map<String, String> provenance;
  private final Map<String, String> flags;
  private final String command;

  /**
   * A report of the state of things now.
   *
   * @param further tables below, each with a title of its own
   * @param device what is to be known of it, by name
   * @param flags what the program was told, by name
   * @param command how it was called, as a shell takes it
   */
  public Report(
      Results results,
      List<Results> further,
      String runtimeVersion,
      Map<String, String> device,
      Map<String, String> flags,
      String command) {
    this.results = results;
    this.further = List.copyOf(further);
    this.provenance = new LinkedHashMap<>(Provenance.now(runtimeVersion));
    this.provenance.putAll(device);
    this.flags = Map.copyOf(flags);
    this.command = command;
  }

  /** Prints a table of medians with its notes. */
  public void print(PrintWriter out) {
    out.println(results.title());
    provenance.forEach((name, value) -> out.println("  " + name + ": " + value));
    out.println();
    TextTable.lines(results.table()).forEach(out::println);
    out.println();
    results.notes().forEach(out::println);
    for (Results below : further) {
      out.println();
      out.println(below.title());
      out.println();
      TextTable.lines(below.table()).forEach(out::println);
      out.println();
      below.notes().forEach(out::println);
    }
    out.flush();
  }

  /** Writes every round's values and their medians. */
  public void writeJson(Path file) throws IOException {
    ObjectMapper json = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
    ObjectNode root = json.createObjectNode().put("title", results.title());
    root.set("provenance", json.valueToTree(provenance));
    root.set("flags", json.valueToTree(flags));
    writeCases(results, root);
    for (Results below : further) {
      writeCases(below, root.withArray("/further").addObject().put("title", below.title()));
    }
    json.writeValue(file.toFile(), root);
  }

  private static void writeCases(Results results, ObjectNode root) {
    var cases = root.putArray("cases");
    results
        .cases()
        .forEach(
            (name, columns) -> {
              ObjectNode node = cases.addObject().put("case", name);
              columns.forEach(
                  (column, rounds) -> {
                    ObjectNode values = node.putObject(column.key());
                    values.put("median", Medians.of(rounds));
                    Interval interval = results.intervals(name).get(column);
                    if (interval != null) {
                      values.put("together", interval.ratio());
                      values.putArray("interval_95").add(interval.low()).add(interval.high());
                    }
                    rounds.forEach(values.withArray("/rounds")::add);
                  });
            });
  }

  /** Writes a page for the documentation. */
  public void writeMarkdown(Path file) throws IOException {
    StringBuilder page = new StringBuilder("# " + results.title() + "\n\n");
    append(results, page);
    for (Results below : further) {
      page.append("\n## ").append(below.title()).append("\n\n");
      append(below, page);
    }
    page.append("\n| | |\n|---|---|\n");
    provenance.forEach((name, value) -> page.append(cells(List.of(name, value))));
    page.append(cells(List.of("flags", flags.toString())));
    page.append("\nMade by:\n\n    ").append(command).append('\n');
    Files.writeString(file, page);
  }

  private static void append(Results results, StringBuilder page) {
    List<List<String>> table = results.table();
    for (int row = 0; row < table.size(); row++) {
      page.append(cells(table.get(row)));
      if (row == 0) {
        page.append("|---|").append("---:|".repeat(table.getFirst().size() - 1)).append('\n');
      }
    }
    page.append('\n');
    results.notes().forEach(note -> page.append("- ").append(note).append('\n'));
  }

  private static String cells(List<String> cells) {
    return cells.stream().collect(Collectors.joining(" | ", "| ", " |\n"));
  }
}
