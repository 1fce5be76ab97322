package io.pipelane.loadgen;

import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.report.Context;
import io.pipelane.loadgen.report.CsvReport;
import io.pipelane.loadgen.report.HtmlReport;
import io.pipelane.loadgen.report.IntervalFile;
import io.pipelane.loadgen.report.PercentileFile;
import io.pipelane.loadgen.report.ResultJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options that name files to write besides the tables. */
final class FileOptions {
  /** What results do not keep: where they were written, and secrets. */
  private static final Set<String> LEFT_OUT =
      Set.of(
          "-H",
          "--header",
          "--json",
          "--profile-export-file",
          "-f",
          "--csv",
          "--hgrm",
          "--hlog",
          "--html");

  private static final String VERBOSE = "--verbose-csv";

  @Option(
      names = {"--json", "--profile-export-file"},
      paramLabel = "FILE",
      description = {
        "Write everything measured, with machine, versions, flags and seeds; loadgen rerun repeats "
            + "it, loadgen report shows several side by side."
      })
  @Nullable Path json;

  @Option(
      names = {"-f", "--csv"},
      paramLabel = "FILE",
      description = "Write a line for each load in perf_analyzer's columns.")
  @Nullable Path csv;

  @Option(names = VERBOSE, description = "With -f: also perf_analyzer's columns of mean latencies.")
  boolean verboseCsv;

  @Option(
      names = "--hgrm",
      paramLabel = "FILE",
      description = "Write the last load's percentiles as HdrHistogram's plotter reads them.")
  @Nullable Path hgrm;

  @Option(
      names = "--hlog",
      paramLabel = "FILE",
      description = "Write the last run over time, as HdrHistogram's log analysers read it.")
  @Nullable Path hlog;

  @Option(
      names = "--html",
      paramLabel = "FILE",
      description = "Write a page with charts, in one file.")
  @Nullable Path html;

  /** Checks that no option lacks another, and that the files can be written in the end. */
  void requireConsistent() {
    if (verboseCsv && csv == null) {
      throw new IllegalArgumentException("--verbose-csv says what -f writes; give -f FILE");
    }
    Stream.of(json, csv, hgrm, hlog, html).forEach(FileOptions::requireWritable);
    Set<Path> named = new HashSet<>();
    Stream.of(json, csv, hgrm, hlog, html)
        .filter(Objects::nonNull)
        .map(file -> file.toAbsolutePath().normalize())
        .filter(file -> !named.add(file))
        .forEach(FileOptions::refuseTwice);
  }

  private static void refuseTwice(Path file) {
    throw new IllegalArgumentException(
        file + " is named for two results, of which one would replace the other");
  }

  /** Checks that a file can be made, with its folders, or replaced. */
  static void requireWritable(@Nullable Path file) {
    if (file == null) {
      return;
    }
    Path existing = file.toAbsolutePath();
    while (!Files.exists(existing)) {
      existing = Objects.requireNonNull(existing.getParent(), "the root");
    }
    boolean isFolder = !existing.equals(file.toAbsolutePath());
    if (Files.isDirectory(existing) != isFolder || !Files.isWritable(existing)) {
      throw new IllegalArgumentException(
          file + " is not a file that can be written; name another for the result");
    }
  }

  /** Writes what was asked for. */
  void write(Context context, Experiment experiment) throws IOException {
    if (json != null) {
      new ResultJson().write(parent(json), context, experiment);
    }
    if (csv != null) {
      new CsvReport(context.rowsPerRequest(), verboseCsv).write(parent(csv), experiment);
    }
    if (hgrm != null) {
      PercentileFile.write(parent(hgrm), experiment);
    }
    if (hlog != null) {
      IntervalFile.write(parent(hlog), context.started(), experiment);
    }
    if (html != null) {
      new HtmlReport().write(parent(html), List.of(new ResultJson().tree(context, experiment)));
    }
  }

  /** The options that name files to write, as they would be given. */
  List<String> arguments() {
    List<String> arguments = new ArrayList<>();
    add(arguments, "--json", json);
    add(arguments, "--csv", csv);
    if (verboseCsv) {
      arguments.add(VERBOSE);
    }
    add(arguments, "--hgrm", hgrm);
    add(arguments, "--hlog", hlog);
    add(arguments, "--html", html);
    return arguments;
  }

  private static void add(List<String> arguments, String name, @Nullable Path file) {
    if (file != null) {
      arguments.addAll(List.of(name, file.toString()));
    }
  }

  /** A command line as results keep it: without files to write, and without headers. */
  static List<String> kept(List<String> arguments) {
    List<String> kept = new ArrayList<>();
    for (int i = 0; i < arguments.size(); i++) {
      String argument = arguments.get(i);
      if (LEFT_OUT.contains(argument)) {
        i++;
      } else if (!argument.equals(VERBOSE)
          && LEFT_OUT.stream().noneMatch(name -> isWithValue(argument, name))) {
        kept.add(argument);
      }
    }
    return kept;
  }

  /**
   * Whether an argument is an option and its value in one: {@code -fFILE} or {@code --csv=FILE}.
   */
  private static boolean isWithValue(String argument, String option) {
    return argument.startsWith(option.startsWith("--") ? option + "=" : option);
  }

  /** The file, its folder made. */
  static Path parent(Path file) throws IOException {
    Files.createDirectories(file.toAbsolutePath().getParent());
    return file;
  }
}
