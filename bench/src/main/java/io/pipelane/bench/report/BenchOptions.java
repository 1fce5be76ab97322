package io.pipelane.bench.report;

import java.time.Duration;
import picocli.CommandLine.Option;

/** The options of a benchmark program that measures in rounds, those of its files among them. */
public final class BenchOptions extends ReportOptions {
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
}
