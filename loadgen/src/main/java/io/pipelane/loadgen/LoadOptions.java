package io.pipelane.loadgen;

import io.pipelane.loadgen.experiment.LatencyLimit;
import io.pipelane.loadgen.experiment.LoadPlan;
import io.pipelane.loadgen.experiment.LoadRange;
import io.pipelane.loadgen.file.FilesRead;
import io.pipelane.loadgen.settings.ArrivalPattern;
import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.Trace;
import io.pipelane.loadgen.trace.IntervalsFile;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.DoubleFunction;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;

/** Options that say how much load there is, and the plan they stand for. */
final class LoadOptions {
  private static final int OPEN_LOOP_CONNECTIONS = 64;
  private static final double DEFAULT_PERCENTILE = 99;

  @ArgGroup(multiplicity = "1")
  Loop loop = new Loop();

  /** Closed or open loop. */
  static final class Loop {
    @Option(
        names = "--concurrency",
        paramLabel = "N",
        description = "Closed loop: N connections, each with one request at a time.")
    @Nullable Integer concurrency;

    @Option(
        names = "--concurrency-range",
        paramLabel = "START:END:STEP",
        description = "Closed loop, with each of these numbers of connections in turn.")
    @Nullable String concurrencyRange;

    @Option(
        names = "--rate",
        paramLabel = "R",
        description = "Open loop: R requests per second, whether or not the server keeps up.")
    @Nullable Double rate;

    @Option(
        names = "--request-rate-range",
        paramLabel = "START:END:STEP",
        description = "Open loop, with each of these rates in turn.")
    @Nullable String rateRange;

    @Option(
        names = "--request-intervals",
        paramLabel = "FILE",
        description = {
          "Open loop: requests at the intervals of a file, one a line in microseconds, over and over "
              + "again."
        })
    @Nullable Path intervals;

    @Option(
        names = "--trace",
        paramLabel = "FILE",
        description = {
          "Open loop: exactly the requests of a file of lines time,model[,batch], times in seconds.",
          "loadgen trace makes some up."
        })
    @Nullable Path trace;
  }

  @Option(
      names = {"--request-distribution", "--distribution"},
      paramLabel = "constant|poisson|gamma",
      description =
          "Open loop: how requests are spread over time (poisson; perf_analyzer's is constant).")
  @Nullable Distribution distribution;

  /** The distribution of an open loop's requests over time. */
  enum Distribution {
    CONSTANT,
    POISSON,
    GAMMA
  }

  @Option(
      names = "--cv",
      paramLabel = "X",
      description = {
        "With --distribution gamma: the intervals' standard deviation over their mean; above 1 "
            + "requests come in clusters."
      })
  @Nullable Double variation;

  @Option(
      names = "--burst",
      paramLabel = "ON:OFF",
      description = "Open loop: bursts of the given rate, like 2s:8s, with silence between them.")
  @Nullable String burst;

  @Option(
      names = "--connections",
      paramLabel = "N",
      description = "Open loop: connections to send over (" + OPEN_LOOP_CONNECTIONS + ").")
  @Nullable Integer connections;

  @Option(
      names = {"-l", "--latency-threshold"},
      paramLabel = "MS",
      description = "A sweep ends behind the first load whose --percentile (p99) is above it.")
  @Nullable Double latencyThreshold;

  @Option(
      names = "--binary-search",
      description = "Search the range for the highest load that holds --latency-threshold.")
  boolean binarySearch;

  private @Nullable List<Duration> intervals;

  /** Reads the intervals, if there are any, and tells of the file. */
  void readIntervals(FilesRead read) {
    if (loop.intervals != null) {
      intervals = IntervalsFile.read(loop.intervals, read);
    }
  }

  /**
   * The plan.
   *
   * @param percentile that a limit is for; null for the usual one
   * @param trace what the trace file holds, where one is given
   */
  LoadPlan plan(@Nullable Double percentile, @Nullable Trace trace) {
    requireConsistent();
    LatencyLimit limit =
        latencyThreshold == null
            ? null
            : new LatencyLimit(
                percentile == null ? DEFAULT_PERCENTILE : percentile, latencyThreshold);
    if (trace != null) {
      return new LoadPlan.Sweep(List.of(open(new ArrivalPattern.Replay(trace))), limit);
    }
    if (intervals != null) {
      return new LoadPlan.Sweep(List.of(open(new ArrivalPattern.Listed(intervals))), limit);
    }
    LoadRange range = range();
    if (isClosed() && !range.isWhole()) {
      throw new IllegalArgumentException(
          "--concurrency-range: connections are whole numbers: " + loop.concurrencyRange);
    }
    DoubleFunction<LoadMode> mode =
        isClosed()
            ? load -> new LoadMode.Closed((int) Math.round(load))
            : load -> open(pattern(load));
    if (binarySearch) {
      if (limit == null) {
        throw new IllegalArgumentException("--binary-search needs --latency-threshold");
      }
      return new LoadPlan.Search(range, mode, limit);
    }
    return new LoadPlan.Sweep(range.loads().stream().map(mode::apply).toList(), limit);
  }

  /** Checks that no option contradicts another. */
  void requireConsistent() {
    if (isClosed()
        && (connections != null || burst != null || variation != null || distribution != null)) {
      throw new IllegalArgumentException(
          "--connections belongs to --rate, as do --burst, --distribution and --cv; a closed loop has as many"
              + " connections as its concurrency");
    }
    if ((loop.trace != null || loop.intervals != null)
        && (burst != null || distribution != null || variation != null)) {
      throw new IllegalArgumentException(
          (loop.trace != null ? "--trace" : "--request-intervals")
              + " says when requests leave; leave out --burst, --distribution and --cv");
    }
    if (burst != null && spread() != Distribution.POISSON) {
      throw new IllegalArgumentException(
          "bursts are poisson within; leave out --distribution with --burst");
    }
    if ((spread() == Distribution.GAMMA) != (variation != null)) {
      throw new IllegalArgumentException("--distribution gamma and --cv belong together");
    }
    if (binarySearch && loop.concurrencyRange == null && loop.rateRange == null) {
      throw new IllegalArgumentException(
          "--binary-search needs --request-rate-range or --concurrency-range");
    }
  }

  private Distribution spread() {
    return distribution == null ? Distribution.POISSON : distribution;
  }

  private boolean isClosed() {
    return loop.concurrency != null || loop.concurrencyRange != null;
  }

  private LoadRange range() {
    if (loop.concurrencyRange != null) {
      return LoadRange.parse(loop.concurrencyRange);
    }
    if (loop.rateRange != null) {
      return LoadRange.parse(loop.rateRange);
    }
    if (loop.concurrency != null) {
      int connections = new LoadMode.Closed(loop.concurrency).connections();
      return new LoadRange(connections, connections, 1);
    }
    if (loop.rate == null) {
      throw new IllegalArgumentException(
          "give --concurrency, --rate, a range, --request-intervals or --trace");
    }
    double rate = new ArrivalPattern.Poisson(loop.rate).requestsPerSecond();
    return new LoadRange(rate, rate, 1);
  }

  private LoadMode open(ArrivalPattern pattern) {
    return new LoadMode.Open(pattern, connections == null ? OPEN_LOOP_CONNECTIONS : connections);
  }

  private ArrivalPattern pattern(double rate) {
    if (burst != null) {
      String[] parts = burst.split(":", -1);
      if (parts.length != 2) {
        throw new IllegalArgumentException("--burst: \"" + burst + "\" is not ON:OFF, like 2s:8s");
      }
      DurationConverter converter = new DurationConverter();
      Duration on = converter.convert(parts[0]);
      return new ArrivalPattern.Bursts(rate, on, converter.convert(parts[1]));
    }
    return switch (spread()) {
      case CONSTANT -> new ArrivalPattern.Constant(rate);
      case POISSON -> new ArrivalPattern.Poisson(rate);
      case GAMMA -> new ArrivalPattern.Gamma(rate, variation == null ? 1 : variation);
    };
  }
}
