package io.pipelane.loadgen;

import io.pipelane.loadgen.settings.Stability;
import io.pipelane.loadgen.settings.Window;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options that say how long and how often is measured. */
final class WindowOptions {
  private static final Duration DURATION = Duration.ofSeconds(10);
  private static final Duration WARMUP = Duration.ofSeconds(2);

  @Option(
      names = "--duration",
      paramLabel = "TIME",
      description = "Measured time, like 10s or 2m (10s; the whole trace with --trace).")
  @Nullable Duration duration;

  @Option(
      names = "--warmup",
      paramLabel = "TIME",
      description = "Load before it that is not measured (2s; none with --trace).")
  @Nullable Duration warmup;

  @Option(
      names = "--request-count",
      paramLabel = "N",
      description = "End after N measured requests, if that is earlier.")
  @Nullable Long requestCount;

  @Option(
      names = "--timeout",
      paramLabel = "TIME",
      defaultValue = "30s",
      description = "A request unanswered for so long is an error (${DEFAULT-VALUE}).")
  Duration timeout = Duration.ofSeconds(30);

  @Option(
      names = {"-p", "--measurement-interval"},
      paramLabel = "MS",
      description = {
        "Instead of --duration: measure windows of so many milliseconds until the last three agree",
        "in throughput and latency, and show those three."
      })
  @Nullable Long measurementInterval;

  @Option(
      names = {"-s", "--stability-percentage"},
      paramLabel = "PERCENT",
      defaultValue = "10",
      description = "Windows agree when they differ by no more than this (${DEFAULT-VALUE}).")
  double stabilityPercentage = 10;

  @Option(
      names = {"-r", "--max-trials"},
      paramLabel = "N",
      defaultValue = "10",
      description =
          "After so many windows the measurement is unstable: status 2 (${DEFAULT-VALUE}).")
  int maximumTrials = 10;

  @Option(
      names = "--percentile",
      paramLabel = "P",
      description = {
        "The latency that windows agree in (the mean), and that --latency-threshold is for (p99)."
      })
  @Nullable Double percentile;

  @Option(
      names = "--runs",
      paramLabel = "N",
      defaultValue = "1",
      description = "Measure each load so often, with seeds S, S+1, ... (${DEFAULT-VALUE}).")
  int runs = 1;

  @Option(
      names = "--seed",
      paramLabel = "S",
      defaultValue = "1",
      description = "Seed of arrivals, choice of models and random inputs (${DEFAULT-VALUE}).")
  long seed = 1;

  /**
   * The window.
   *
   * @param trace length of the trace that is replayed; null without one
   */
  Window window(@Nullable Duration trace) {
    long limit = requestCount == null ? Long.MAX_VALUE : requestCount;
    Duration unmeasured = or(warmup, trace == null ? WARMUP : Duration.ZERO);
    if (measurementInterval == null) {
      Duration measured = or(duration, trace == null ? DURATION : trace);
      return new Window(unmeasured, measured, limit, timeout, null);
    }
    if (duration != null) {
      throw new IllegalArgumentException(
          "--measurement-interval and --duration exclude each other");
    }
    Stability stability =
        new Stability(
            stabilityPercentage / 100, maximumTrials, percentile == null ? 0 : percentile);
    return new Window(
        unmeasured, Duration.ofMillis(measurementInterval), limit, timeout, stability);
  }

  private static Duration or(@Nullable Duration given, Duration otherwise) {
    return given == null ? otherwise : given;
  }
}
