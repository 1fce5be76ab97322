package io.pipelane.loadgen;

import io.pipelane.loadgen.settings.Span;
import io.pipelane.loadgen.settings.Stability;
import io.pipelane.loadgen.settings.Window;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options that say how long and how often is measured. */
final class WindowOptions {
  private static final Duration DURATION = Duration.ofSeconds(10);
  private static final Duration WARMUP = Duration.ofSeconds(2);
  private static final double STABILITY_PERCENTAGE = 10;
  private static final int MAXIMUM_TRIALS = 10;
  private static final long INTERVAL_MILLIS = 5_000;
  private static final long REQUESTS_OF_A_WINDOW = 50;

  @Option(
      names = "--duration",
      paramLabel = "TIME",
      description = "Measured time, like 10s or 2m (10s; with --trace what is left of it).")
  @Nullable Duration duration;

  @Option(
      names = "--warmup",
      paramLabel = "TIME",
      description =
          "Load before it that is not measured (2s; none with --trace, whose beginning it is).")
  @Nullable Duration warmup;

  @Option(
      names = "--warmup-request-count",
      paramLabel = "N",
      description = {
        "Instead of a time: measuring begins when N requests have come to an end, load going on "
            + "meanwhile."
      })
  @Nullable Long warmupRequests;

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
        "Instead of --duration: measure windows of so many milliseconds until the last three agree "
            + "in throughput and latency, and show those three."
      })
  @Nullable Long measurementInterval;

  @Option(
      names = "--measurement-mode",
      paramLabel = "time_windows|count_windows",
      description = {
        "What ends such a window: the time of -p (5000 ms), or that --measurement-request-count of "
            + "requests have come to an end in it (time_windows with -p, otherwise no windows)."
      })
  @Nullable Mode mode;

  /** The kind of a window's end; named as perf_analyzer does. */
  enum Mode {
    TIME_WINDOWS,
    COUNT_WINDOWS
  }

  @Option(
      names = "--measurement-request-count",
      paramLabel = "N",
      description = "With count_windows: requests of a window (50).")
  @Nullable Long measurementRequests;

  @Option(
      names = {"-s", "--stability-percentage"},
      paramLabel = "PERCENT",
      description = "With windows: they agree when they differ by no more than this (10).")
  @Nullable Double stabilityPercentage;

  @Option(
      names = {"-r", "--max-trials"},
      paramLabel = "N",
      description =
          "With windows: after so many of them the measurement is unstable: status 2 (10).")
  @Nullable Integer maximumTrials;

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

  /** Whether windows are measured until they agree. */
  boolean hasWindows() {
    return measurementInterval != null || mode != null;
  }

  /**
   * The window.
   *
   * @param trace length of the trace that is replayed; null without one
   */
  Window window(@Nullable Duration trace) {
    requireConsistent(trace != null);
    long limit = requestCount == null ? Long.MAX_VALUE : requestCount;
    Duration unmeasured = or(warmup, trace == null ? WARMUP : Duration.ZERO);
    Span before =
        warmupRequests == null ? new Span.Time(unmeasured) : new Span.Requests(warmupRequests);
    if (!hasWindows()) {
      Duration measured = or(duration, trace == null ? DURATION : behind(unmeasured, trace));
      return new Window(before, new Span.Time(measured), limit, timeout, null);
    }
    Stability stability =
        new Stability(
            (stabilityPercentage == null ? STABILITY_PERCENTAGE : stabilityPercentage) / 100,
            maximumTrials == null ? MAXIMUM_TRIALS : maximumTrials,
            percentile == null ? 0 : percentile);
    return new Window(before, each(), limit, timeout, stability);
  }

  /** How long each of several windows lasts. */
  private Span each() {
    if (mode == Mode.COUNT_WINDOWS) {
      return new Span.Requests(
          measurementRequests == null ? REQUESTS_OF_A_WINDOW : measurementRequests);
    }
    return new Span.Time(
        Duration.ofMillis(measurementInterval == null ? INTERVAL_MILLIS : measurementInterval));
  }

  private void requireConsistent(boolean isTrace) {
    if (!hasWindows() && (stabilityPercentage != null || maximumTrials != null)) {
      throw new IllegalArgumentException(
          "--stability-percentage and --max-trials belong to windows; give"
              + " --measurement-interval or --measurement-mode");
    }
    if (hasWindows() && duration != null) {
      throw new IllegalArgumentException(
          "windows and --duration exclude each other; leave out --measurement-interval and"
              + " --measurement-mode, or --duration");
    }
    if (mode == Mode.COUNT_WINDOWS && measurementInterval != null) {
      throw new IllegalArgumentException(
          "--measurement-interval is for time_windows; count_windows end with"
              + " --measurement-request-count");
    }
    if (mode != Mode.COUNT_WINDOWS && measurementRequests != null) {
      throw new IllegalArgumentException(
          "--measurement-request-count needs --measurement-mode count_windows");
    }
    if (warmupRequests != null && warmup != null) {
      throw new IllegalArgumentException("--warmup and --warmup-request-count exclude each other");
    }
    if (isTrace && (warmupRequests != null || mode == Mode.COUNT_WINDOWS)) {
      throw new IllegalArgumentException(
          "--trace goes by time: leave out --warmup-request-count and count_windows");
    }
  }

  /** What is left of a trace behind its first requests, which are not measured. */
  private static Duration behind(Duration warmup, Duration trace) {
    if (warmup.compareTo(trace) >= 0) {
      throw new IllegalArgumentException(
          "--warmup: the trace ends after %s, so nothing is left to measure behind %s"
              .formatted(Span.seconds(trace), Span.seconds(warmup)));
    }
    return trace.minus(warmup);
  }

  private static Duration or(@Nullable Duration given, Duration otherwise) {
    return given == null ? otherwise : given;
  }
}
