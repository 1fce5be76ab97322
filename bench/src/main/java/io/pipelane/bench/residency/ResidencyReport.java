package io.pipelane.bench.residency;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.bench.residency.Findings.Scene;
import io.pipelane.demo.report.TextTable;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Findings and where they come from, for people and for programs. */
final class ResidencyReport {
  static final String TITLE = "Residency";
  private static final List<String> NOTES =
      List.of(
          "Simulated: all links as one, first come, first served; one run at a time, requests in their"
              + " order; the classes that decide are the server's.",
          "Stall: what a run takes longer than with all its weights there. Up to 0.08 ms counts as"
              + " none.",
          "As measured: any transfer costs a run 0.065 ms beyond what the pipeline says; a variant that"
              + " takes its structure's addresses over has its pages mapped in steps, 53 us each, and a"
              + " segment waits for its own.",
          "The pipeline alone: neither, as if transfers and variants cost nothing but copies.",
          "Prefixes planned with the true rates: the expected stall of the best prefixes, never"
              + " touched, with room for the largest model to stream through and no queue on the"
              + " link.",
          "Moved ahead: for a request in the queue, or because a planned prefix lacked it.");

  private final Findings findings;
  private final Map<String, String> provenance;

  ResidencyReport(Findings findings, Map<String, String> provenance) {
    this.findings = findings;
    this.provenance = provenance;
  }

  /** Prints every table. */
  void print(PrintWriter out) {
    for (Scene scene : findings.scenes()) {
      out.println();
      out.println(ResidencyTables.title(scene));
      TextTable.lines(ResidencyTables.policies(scene)).forEach(out::println);
    }
    print(out, ResidencyTables.ratios(findings.scenes()));
    print(out, ResidencyTables.pageSizes(findings.pageSizes()));
    print(out, ResidencyTables.prefixes(findings.prefixes()));
    if (!findings.densities().isEmpty()) {
      print(out, ResidencyTables.densities(findings.densities()));
    }
    out.flush();
  }

  private static void print(PrintWriter out, List<List<String>> table) {
    out.println();
    TextTable.lines(table).forEach(out::println);
  }

  /** Writes every figure. */
  void writeJson(Path file) throws IOException {
    ObjectMapper json = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
    ObjectNode root = json.createObjectNode().put("title", TITLE);
    root.set("provenance", json.valueToTree(provenance));
    root.set("findings", json.valueToTree(findings));
    json.writeValue(file.toFile(), root);
  }

  /**
   * Writes a page for the documentation.
   *
   * @param plot a drawing to show, if there is one
   */
  void writeMarkdown(Path file, @Nullable Path plot) throws IOException {
    StringBuilder page = new StringBuilder("# " + TITLE + ", simulated on plans of an H200\n\n");
    page.append("What was aimed at is in brackets.\n\n");
    append(page, ResidencyTables.ratios(findings.scenes()));
    if (plot != null) {
      page.append("\n![Mean stall by memory](").append(plot.getFileName()).append(")\n");
    }
    page.append("\n## Density\n\n");
    if (findings.densities().isEmpty()) {
      page.append("Not looked for in this run.\n");
    } else {
      append(page, ResidencyTables.densities(findings.densities()));
    }
    page.append("\n## Stall by resident share\n\n");
    append(page, ResidencyTables.prefixes(findings.prefixes()));
    page.append("\n## Pages\n\n");
    append(page, ResidencyTables.pageSizes(findings.pageSizes()));
    for (Scene scene : findings.scenes()) {
      page.append("\n## ").append(ResidencyTables.title(scene)).append("\n\n");
      append(page, ResidencyTables.policies(scene));
    }
    page.append("\n## How it was found\n\n");
    NOTES.forEach(note -> page.append("- ").append(note).append('\n'));
    page.append("\n| | |\n|---|---|\n");
    provenance.forEach((name, value) -> page.append(cells(List.of(name, value))));
    Files.writeString(file, page);
  }

  private static void append(StringBuilder page, List<List<String>> table) {
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
