package io.pipelane.bench.cluster;

import io.pipelane.bench.measure.Medians;
import io.pipelane.bench.plot.BarPlot;
import io.pipelane.bench.report.Results;
import io.pipelane.cluster.simulator.ClusterOutcome;
import io.pipelane.cluster.simulator.ClusterSimulator;
import io.pipelane.cluster.simulator.ClusterSimulator.Setting;
import io.pipelane.cluster.simulator.Fleet;
import io.pipelane.cluster.simulator.RequestRates;
import io.pipelane.cluster.simulator.Scheme;
import io.pipelane.cluster.simulator.SharingWay;
import io.pipelane.cluster.simulator.VirtualCluster;
import io.pipelane.cluster.speed.SpeedPredictor;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.ToDoubleFunction;

/** Days of virtual clusters, each under every scheme with the same jobs and requests. */
final class DayRounds {
  private static final double PERCENT = 100;

  private final List<VirtualCluster> clusters;
  private final Fleet fleet;
  private final List<Scheme> schemes;
  private final Duration interval;
  private final Duration overlimitPeriod;
  private final int epochs;
  private final List<Map<Cell, ClusterOutcome>> days = new ArrayList<>();

  private record Cell(VirtualCluster cluster, Scheme scheme) {
    String row() {
      return "%s, %s".formatted(cluster.name(), scheme.name());
    }
  }

  DayRounds(
      List<VirtualCluster> clusters,
      Fleet fleet,
      List<Scheme> schemes,
      Duration interval,
      Duration overlimitPeriod,
      int epochs) {
    this.clusters = List.copyOf(clusters);
    this.fleet = fleet;
    this.schemes = List.copyOf(schemes);
    this.interval = interval;
    this.overlimitPeriod = overlimitPeriod;
    this.epochs = epochs;
  }

  /** Simulates a day, schemes beside each other on the machine's processors. */
  void run(int devices, long seed, Results results) throws Exception {
    RequestRates rates = RequestRates.draw(devices, seed);
    Map<SharingWay, Map<String, SpeedPredictor>> predictors = new EnumMap<>(SharingWay.class);
    for (Scheme scheme : schemes) {
      if (scheme.matching()) {
        predictors.computeIfAbsent(scheme.way(), way -> fleet.predictors(way, epochs, seed));
      }
    }
    Map<Cell, Future<ClusterOutcome>> running = new LinkedHashMap<>();
    Map<Cell, ClusterOutcome> day = new LinkedHashMap<>();
    try (ExecutorService threads =
        Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors())) {
      for (VirtualCluster cluster : clusters) {
        Setting setting = new Setting(cluster, fleet, rates, interval, overlimitPeriod, seed);
        for (Scheme scheme : schemes) {
          ClusterSimulator simulator =
              new ClusterSimulator(
                  setting, scheme, predictors.getOrDefault(scheme.way(), Map.of()));
          running.put(new Cell(cluster, scheme), threads.submit(simulator::run));
        }
      }
      for (Map.Entry<Cell, Future<ClusterOutcome>> entry : running.entrySet()) {
        day.put(entry.getKey(), entry.getValue().get());
      }
    }
    days.add(day);
    day.forEach((cell, outcome) -> tell(cell, outcome, day, results));
  }

  private static void tell(
      Cell cell, ClusterOutcome outcome, Map<Cell, ClusterOutcome> day, Results results) {
    String row = cell.row();
    ClusterOutcome alone = of(day, cell.cluster, Scheme.ONLINE_ONLY);
    ClusterOutcome ours = of(day, cell.cluster, Scheme.OURS);
    results.add(row, ClusterColumns.MEAN, outcome.meanMillis());
    results.add(row, ClusterColumns.MEAN_RATIO, outcome.meanMillis() / alone.meanMillis());
    results.add(row, ClusterColumns.P99_RATIO, outcome.p99Millis() / alone.p99Millis());
    if (!Double.isNaN(outcome.activity())) {
      results.add(row, ClusterColumns.UTILIZATION, PERCENT * outcome.utilization());
      results.add(row, ClusterColumns.ACTIVITY, PERCENT * outcome.activity());
    }
    if (!cell.scheme.equals(Scheme.ONLINE_ONLY)) {
      results.add(row, ClusterColumns.COMPLETION, outcome.completionMinutes());
      results.add(
          row,
          ClusterColumns.COMPLETION_RATIO,
          outcome.completionMinutes() / ours.completionMinutes());
      results.add(row, ClusterColumns.OVERSOLD, outcome.oversold());
      results.add(row, ClusterColumns.OVERSOLD_RATIO, ours.oversold() / outcome.oversold());
      results.add(row, ClusterColumns.MAKESPAN, outcome.makespanHours());
      results.add(row, ClusterColumns.MOVES, outcome.moves());
      results.add(row, ClusterColumns.EVICTIONS, outcome.evictions());
      results.add(row, ClusterColumns.UNFINISHED, outcome.unfinished());
    }
  }

  private static ClusterOutcome of(
      Map<Cell, ClusterOutcome> day, VirtualCluster cluster, Scheme scheme) {
    ClusterOutcome outcome = day.get(new Cell(cluster, scheme));
    if (outcome == null) {
      throw new IllegalStateException("not simulated: " + cluster + ", " + scheme);
    }
    return outcome;
  }

  /** Draws mean latencies, over those of online work alone. */
  void drawLatencies(Path file) throws IOException {
    draw(
        file,
        "Mean latency of online requests, over that of online work alone",
        Scheme.ONLINE_ONLY,
        ClusterOutcome::meanMillis);
  }

  /** Draws mean completion times, over those of ours. */
  void drawCompletions(Path file) throws IOException {
    draw(
        file,
        "Mean completion time of offline jobs, over that of ours",
        Scheme.OURS,
        ClusterOutcome::completionMinutes);
  }

  /** Those of the paper's figures 11 and 13, and gates. */
  private static boolean isDrawn(Scheme scheme) {
    return switch (scheme.way()) {
      case ONLINE_ONLY -> false;
      case SPACE -> scheme.throttle() && scheme.states();
      case TIME_SLICES, PRIORITY_SLICES, GATES, GATED_SPACE -> true;
    };
  }

  private void draw(Path file, String title, Scheme unit, ToDoubleFunction<ClusterOutcome> figure)
      throws IOException {
    BarPlot plot = new BarPlot(title);
    for (VirtualCluster cluster : clusters) {
      for (Scheme scheme : schemes) {
        if (isDrawn(scheme)) {
          List<Double> ratios =
              days.stream()
                  .map(
                      day ->
                          figure.applyAsDouble(of(day, cluster, scheme))
                              / figure.applyAsDouble(of(day, cluster, unit)))
                  .toList();
          plot.add(cluster.name(), scheme.name(), Medians.of(ratios));
        }
      }
    }
    plot.write(file);
  }
}
