package io.pipelane.bench.cluster;

import io.pipelane.bench.report.ReportOptions;
import io.pipelane.bench.report.Results;
import io.pipelane.cluster.simulator.Fleet;
import io.pipelane.cluster.simulator.GpuType;
import io.pipelane.cluster.simulator.Scheme;
import io.pipelane.cluster.simulator.VirtualCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench cluster}: offline jobs beside online services on many devices, simulated. */
@Command(
    name = "cluster",
    description = {
      "Days of a cluster whose devices online and offline work share, in the simulator: "
          + "MuxFlow's comparison.",
      "Besides, how good speeds are predicted and how long matching takes."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class ClusterCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ReportOptions files = new ReportOptions();

  @Option(
      names = "--devices",
      paramLabel = "N",
      description = "Of the cluster; jobs are as many in proportion (${DEFAULT-VALUE}).")
  private int devices = 1_000;

  @Option(
      names = "--gpu",
      split = ",",
      paramLabel = "TYPE",
      description = {
        "Types of the devices of a host, as all hosts have them: T4-like or H200-like "
            + "(${DEFAULT-VALUE})."
      })
  private List<String> gpus = List.of(GpuType.T4_LIKE.name());

  @Option(
      names = "--sharing",
      split = ",",
      paramLabel = "FILE",
      description = {
        "What bench sharing wrote with --json, of one pair on one device: go by it in place of assumed "
            + "figures; of ways that several files have the first counts."
      })
  private List<Path> sharing = List.of();

  @Option(
      names = "--cluster",
      paramLabel = "NAME",
      split = ",",
      description = "Virtual clusters of MuxFlow's, A to D (${DEFAULT-VALUE}).")
  private List<String> clusters = List.of("A", "B", "C", "D");

  @Option(
      names = "--scheme",
      paramLabel = "NAME",
      split = ",",
      description = "Beside online only and ours, which always run; all unless told otherwise.")
  private List<String> schemes = Scheme.ALL.stream().map(Scheme::name).toList();

  @Option(
      names = "--interval",
      paramLabel = "MIN",
      description = "From one placement to the next (${DEFAULT-VALUE}).")
  private int interval = 15;

  @Option(
      names = "--overlimit-period",
      paramLabel = "MIN",
      description = {
        "For which an overloaded device takes no job at least, doubled by each time within two hours "
            + "(${DEFAULT-VALUE})."
      })
  private int overlimitPeriod = 5;

  @Option(
      names = "--rounds",
      paramLabel = "N",
      description = "Days of other jobs and requests; medians count (${DEFAULT-VALUE}).")
  private int rounds = 3;

  @Option(names = "--seed", paramLabel = "N", description = "Of the first day (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Option(
      names = "--epochs",
      paramLabel = "N",
      description = "That speed predictors learn for (${DEFAULT-VALUE}).")
  private int epochs = 200;

  @Option(
      names = "--matching",
      paramLabel = "N",
      split = ",",
      description = "Sizes of both sides of which matching is timed (${DEFAULT-VALUE}).")
  private List<Integer> sizes = List.of(250, 1_000);

  @Option(
      names = "--latency-svg",
      paramLabel = "FILE",
      description = "Draw latencies of online requests, too.")
  private @Nullable Path latencySvg;

  @Option(
      names = "--completion-svg",
      paramLabel = "FILE",
      description = "Draw completion times of jobs, too.")
  private @Nullable Path completionSvg;

  @Override
  public Integer call() throws Exception {
    check();
    @Nullable MeasuredFigures measured = sharing.isEmpty() ? null : MeasuredFigures.read(sharing);
    Results days =
        measured == null
            ? new Results(ClusterColumns.DAYS_TITLE, ClusterColumns.DAYS, ClusterColumns.DAYS_NOTES)
            : new Results(
                ClusterColumns.MEASURED_DAYS_TITLE,
                ClusterColumns.DAYS,
                ClusterColumns.measuredNotes());
    DayRounds simulated =
        new DayRounds(
            chosenClusters(),
            measured == null ? assumed() : new Fleet.Measured(measured.sharing()),
            chosenSchemes(measured),
            Duration.ofMinutes(interval),
            Duration.ofMinutes(overlimitPeriod),
            epochs);
    for (int round = 0; round < rounds; round++) {
      simulated.run(devices, seed + round, days);
    }
    if (latencySvg != null) {
      simulated.drawLatencies(latencySvg);
    }
    if (completionSvg != null) {
      simulated.drawCompletions(completionSvg);
    }
    List<Results> further =
        measured == null
            ? List.of(
                PredictionErrors.measure(rounds, epochs, seed),
                MatchingTimes.measure(sizes, seed),
                OneDevice.compare())
            : List.of(measured.results());
    files.publish(spec, days, further, "", Map.of());
    return 0;
  }

  private void check() {
    boolean isFine = devices >= 3 && devices <= 10_000 && rounds >= 1 && rounds <= 100;
    boolean isTimed = interval >= 1 && interval <= 1_440 && overlimitPeriod >= 1;
    boolean isLearned = epochs >= 1 && epochs <= 10_000;
    if (!isFine || !isTimed || !isLearned || sizes.stream().anyMatch(n -> n < 1 || n > 4_000)) {
      throw new IllegalArgumentException(
          ("--devices is 3 to 10000, --rounds 1 to 100, --interval 1 to 1440 minutes,"
                  + " --overlimit-period 1 or more, --epochs 1 to 10000, --matching 1 to 4000:"
                  + " %d, %d, %d, %d, %d, %s")
              .formatted(devices, rounds, interval, overlimitPeriod, epochs, sizes));
    }
  }

  private Fleet assumed() {
    List<GpuType> host = new ArrayList<>();
    for (String name : gpus) {
      host.add(
          GpuType.ALL.stream()
              .filter(type -> type.name().equals(name))
              .findFirst()
              .orElseThrow(
                  () ->
                      new IllegalArgumentException(
                          "there is no GPU type " + name + "; there are T4-like and H200-like")));
    }
    return new Fleet.Assumed(host);
  }

  private List<VirtualCluster> chosenClusters() {
    List<VirtualCluster> chosen = new ArrayList<>();
    for (String name : clusters) {
      chosen.add(
          VirtualCluster.ALL.stream()
              .filter(cluster -> cluster.name().equals(name))
              .findFirst()
              .orElseThrow(() -> new IllegalArgumentException("there is no cluster " + name))
              .scaledTo(devices));
    }
    return chosen;
  }

  /** Without those whose way to share was not measured, where figures are. */
  private List<Scheme> chosenSchemes(@Nullable MeasuredFigures measured) {
    List<String> known = Scheme.ALL.stream().map(Scheme::name).toList();
    for (String name : schemes) {
      if (!known.contains(name)) {
        throw new IllegalArgumentException("there is no scheme " + name + " but " + known);
      }
    }
    if (measured != null && !measured.sharing().has(Scheme.OURS.way())) {
      throw new IllegalArgumentException(
          "--sharing has no way shares, which the others are compared with: " + sharing);
    }
    return Scheme.ALL.stream()
        .filter(scheme -> measured == null || measured.sharing().has(scheme.way()))
        .filter(
            scheme ->
                scheme.equals(Scheme.ONLINE_ONLY)
                    || scheme.equals(Scheme.OURS)
                    || schemes.contains(scheme.name()))
        .toList();
  }
}
