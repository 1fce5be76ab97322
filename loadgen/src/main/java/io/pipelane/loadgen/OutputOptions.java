package io.pipelane.loadgen;

import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.report.Context;
import io.pipelane.loadgen.report.CsvReport;
import io.pipelane.loadgen.report.HtmlReport;
import io.pipelane.loadgen.report.ModelClasses;
import io.pipelane.loadgen.report.PercentileFile;
import io.pipelane.loadgen.report.ResultJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options that say what is written besides the tables. */
final class OutputOptions {
  private static final Set<String> FILES =
      Set.of("--json", "--profile-export-file", "-f", "--csv", "--hgrm", "--html");

  @Option(
      names = {"--json", "--profile-export-file"},
      paramLabel = "FILE",
      description = {
        "Write everything measured, with machine, versions, flags and seeds; loadgen rerun repeats",
        "it, loadgen report shows several side by side."
      })
  @Nullable Path json;

  @Option(
      names = {"-f", "--csv"},
      paramLabel = "FILE",
      description = "Write a line for each load in perf_analyzer's columns.")
  @Nullable Path csv;

  @Option(
      names = "--hgrm",
      paramLabel = "FILE",
      description = "Write the last load's percentiles as HdrHistogram's plotter reads them.")
  @Nullable Path hgrm;

  @Option(
      names = "--html",
      paramLabel = "FILE",
      description = "Write a page with charts, in one file.")
  @Nullable Path html;

  @Option(
      names = "--name",
      paramLabel = "TEXT",
      description = "What reports call this (the server's address).")
  @Nullable String name;

  @Option(
      names = "--slo",
      paramLabel = "TIME",
      description = "Count the answers within this response time: attainment and goodput.")
  @Nullable Duration objective;

  @Option(
      names = "--class",
      paramLabel = "MODEL=CLASS",
      description = "Models of a class, like online or offline, get figures of their own together.")
  Map<String, String> classes = new LinkedHashMap<>();

  ModelClasses classes() {
    return new ModelClasses(classes);
  }

  /** Writes what was asked for. */
  void write(Context context, Experiment experiment) throws IOException {
    if (json != null) {
      new ResultJson().write(parent(json), context, experiment);
    }
    if (csv != null) {
      CsvReport.write(parent(csv), experiment, context.batch());
    }
    if (hgrm != null) {
      PercentileFile.write(parent(hgrm), experiment);
    }
    if (html != null) {
      new HtmlReport().write(parent(html), List.of(new ResultJson().tree(context, experiment)));
    }
  }

  /** The options that name files to write, as they would be given. */
  List<String> fileArguments() {
    List<String> arguments = new ArrayList<>();
    add(arguments, "--json", json);
    add(arguments, "--csv", csv);
    add(arguments, "--hgrm", hgrm);
    add(arguments, "--html", html);
    return arguments;
  }

  private static void add(List<String> arguments, String name, @Nullable Path file) {
    if (file != null) {
      arguments.addAll(List.of(name, file.toString()));
    }
  }

  /** A command line without its options that name files to write. */
  static List<String> withoutFiles(List<String> arguments) {
    List<String> kept = new ArrayList<>();
    for (int i = 0; i < arguments.size(); i++) {
      String argument = arguments.get(i);
      if (FILES.contains(argument)) {
        i++;
      } else if (FILES.stream().noneMatch(file -> argument.startsWith(file + "="))) {
        kept.add(argument);
      }
    }
    return kept;
  }

  /** The file, its folder made. */
  static Path parent(Path file) throws IOException {
    Files.createDirectories(file.toAbsolutePath().getParent());
    return file;
  }
}
