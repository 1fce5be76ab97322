package io.pipelane.bench.cluster;

import io.pipelane.bench.report.ReportOptions;
import io.pipelane.bench.report.Results;
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
      "Days of a cluster whose devices online and offline work share, in the simulator: MuxFlow's",
      "comparison. Besides, how good speeds are predicted and how long matching takes."
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
        "For which an overloaded device takes no job at least, doubled by each time within two hours",
        "(${DEFAULT-VALUE})."
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
    Results days =
        new Results(ClusterColumns.DAYS_TITLE, ClusterColumns.DAYS, ClusterColumns.DAYS_NOTES);
    DayRounds simulated =
        new DayRounds(
            chosenClusters(),
            chosenSchemes(),
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
        List.of(
            PredictionErrors.measure(rounds, epochs, seed),
            MatchingTimes.measure(sizes, seed),
            OneDevice.compare());
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

  private List<Scheme> chosenSchemes() {
    List<String> known = Scheme.ALL.stream().map(Scheme::name).toList();
    for (String name : schemes) {
      if (!known.contains(name)) {
        throw new IllegalArgumentException("there is no scheme " + name + " but " + known);
      }
    }
    return Scheme.ALL.stream()
        .filter(
            scheme ->
                scheme.equals(Scheme.ONLINE_ONLY)
                    || scheme.equals(Scheme.OURS)
                    || schemes.contains(scheme.name()))
        .toList();
  }
}
