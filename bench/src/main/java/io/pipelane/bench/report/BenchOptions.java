package io.pipelane.bench.report;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;

/** The options that every benchmark program has. */
public final class BenchOptions {
  @Option(
      names = "--rounds",
      paramLabel = "N",
      defaultValue = "5",
      description = "Times that each contestant has its turn; medians count (${DEFAULT-VALUE}).")
  private int rounds = 5;

  @Option(
      names = "--seconds",
      paramLabel = "S",
      defaultValue = "2",
      description = "Length of each measurement (${DEFAULT-VALUE}).")
  private double seconds = 2;

  @Option(
      names = "--warmup",
      paramLabel = "S",
      defaultValue = "5",
      description = "Load on each contestant before anything is measured (${DEFAULT-VALUE}).")
  private double warmup = 5;

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

  /**
   * How often each contestant has its turn.
   *
   * @throws IllegalArgumentException unless it is 1 to 1,000
   */
  public int rounds() {
    if (rounds < 1 || rounds > 1_000) {
      throw new IllegalArgumentException("--rounds must be between 1 and 1000: " + rounds);
    }
    return rounds;
  }

  /**
   * Length of each measurement.
   *
   * @throws IllegalArgumentException unless it is 10 milliseconds to an hour
   */
  public Duration length() {
    return duration("--seconds", seconds);
  }

  /**
   * Length of the load on each contestant before anything is measured.
   *
   * @throws IllegalArgumentException unless it is 10 milliseconds to an hour
   */
  public Duration warmup() {
    return duration("--warmup", warmup);
  }

  private static Duration duration(String option, double seconds) {
    if (!(seconds >= 0.01 && seconds <= 3_600)) {
      throw new IllegalArgumentException(
          option + " must be between 0.01 and 3600 seconds: " + seconds);
    }
    return Duration.ofNanos(Math.round(seconds * 1e9));
  }

  /** Where models and derived files go, made when it is not there. */
  public Path work() throws IOException {
    return Files.createDirectories(work.toAbsolutePath().normalize());
  }

  /** Prints the results and writes the files that were asked for. */
  public void publish(CommandSpec spec, Results results, String runtimeVersion) throws IOException {
    publish(spec, results, runtimeVersion, Map.of());
  }

  /**
   * Prints the results and writes the files that were asked for.
   *
   * @param device what is to be known of it, by name
   */
  public void publish(
      CommandSpec spec, Results results, String runtimeVersion, Map<String, String> device)
      throws IOException {
    Map<String, String> flags = new TreeMap<>();
    for (OptionSpec option : spec.options()) {
      if (!option.usageHelp() && !option.versionHelp() && option.getValue() != null) {
        flags.put(option.longestName().substring(2), option.getValue().toString());
      }
    }
    Report report = new Report(results, runtimeVersion, device, flags);
    PrintWriter out = spec.commandLine().getOut();
    report.print(out);
    if (json != null) {
      report.writeJson(json);
    }
    if (markdown != null) {
      report.writeMarkdown(markdown);
    }
  }
}
