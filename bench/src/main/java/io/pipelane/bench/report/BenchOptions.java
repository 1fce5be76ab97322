package io.pipelane.bench.report;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
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

  @Mixin private ReportOptions files = new ReportOptions();

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
    return files.work();
  }

  /** Has results published even if measuring is cut off; complete it at the end, and close it. */
  public CutOff publishIfCutOff(CommandSpec spec, Results results) {
    return files.publishIfCutOff(spec, results);
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
    files.publish(spec, results, runtimeVersion, device);
  }

  /**
   * Prints the results and further tables and writes the files that were asked for.
   *
   * @param further tables below, each with a title of its own
   * @param device what is to be known of it, by name
   */
  public void publish(
      CommandSpec spec,
      Results results,
      List<Results> further,
      String runtimeVersion,
      Map<String, String> device)
      throws IOException {
    files.publish(spec, results, further, runtimeVersion, device);
  }
}
