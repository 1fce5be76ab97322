package io.pipelane.bench.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;

/** The options that say where a benchmark program's files go. */
public class ReportOptions {
  @Option(
      names = "--work",
      paramLabel = "DIR",
      description = "Where models and derived files go; .pipelane/bench unless told otherwise.")
  private Path work = Path.of(".pipelane", "bench");

  @Option(
      names = "--json",
      paramLabel = "FILE",
      description = "Write every round's values to a file, too.")
  private @Nullable Path json;

  @Option(
      names = "--markdown",
      paramLabel = "FILE",
      description = "Write the table as a page for docs/results, too.")
  private @Nullable Path markdown;

  /** Where models and derived files go, made when it is not there. */
  public final Path work() throws IOException {
    return Files.createDirectories(work.toAbsolutePath().normalize());
  }

  /** Has results published even if measuring is cut off; complete it at the end, and close it. */
  public final CutOff publishIfCutOff(CommandSpec spec, Results results) {
    return new CutOff(this, spec, results);
  }

  /** Prints the results and writes the files that were asked for. */
  public final void publish(CommandSpec spec, Results results, String runtimeVersion)
      throws IOException {
    publish(spec, results, runtimeVersion, Map.of());
  }

  /**
   * Prints the results and writes the files that were asked for.
   *
   * @param device what is to be known of it, by name
   */
  public final void publish(
      CommandSpec spec, Results results, String runtimeVersion, Map<String, String> device)
      throws IOException {
    publish(spec, results, List.of(), runtimeVersion, device);
  }

  /**
   * Prints the results and further tables and writes the files that were asked for.
   *
   * @param further tables below, each with a title of its own
   * @param device what is to be known of it, by name
   */
  public final void publish(
      CommandSpec spec,
      Results results,
      List<Results> further,
      String runtimeVersion,
      Map<String, String> device)
      throws IOException {
    Map<String, String> flags = new TreeMap<>();
    for (OptionSpec option : spec.options()) {
      if (!option.usageHelp() && !option.versionHelp() && option.getValue() != null) {
        flags.put(option.longestName().substring(2), option.getValue().toString());
      }
    }
    Report report = new Report(results, further, runtimeVersion, device, flags, command(spec));
    report.print(spec.commandLine().getOut());
    if (json != null) {
      report.writeJson(json);
    }
    if (markdown != null) {
      report.writeMarkdown(markdown);
    }
  }

  private static String command(CommandSpec spec) {
    CommandSpec program = spec.root();
    return Stream.concat(
            Stream.of("bin/" + program.name()),
            program.commandLine().getParseResult().originalArgs().stream())
        .map(ReportOptions::quoted)
        .collect(Collectors.joining(" "));
  }

  private static String quoted(String argument) {
    return argument.matches("[\\w./:,=%+@-]+")
        ? argument
        : "'" + argument.replace("'", "'\\''") + "'";
  }
}
