package io.pipelane.bench.cluster;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.AskedModels;
import io.pipelane.bench.model.FolderOptions;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.CutOff;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.sharing.SharedServer;
import io.pipelane.cluster.simulator.ClusterOutcome;
import io.pipelane.cluster.simulator.ClusterSimulator;
import io.pipelane.cluster.simulator.ClusterSimulator.DayJob;
import io.pipelane.cluster.simulator.ClusterSimulator.Setting;
import io.pipelane.cluster.simulator.Fleet;
import io.pipelane.cluster.simulator.RequestRates;
import io.pipelane.cluster.simulator.Scheme;
import io.pipelane.cluster.simulator.VirtualCluster;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench day}: the cluster simulator beside a real device. */
@Command(
    name = "day",
    description =
        "A day of one device that online requests and offline jobs share at gates, in the "
            + "cluster's simulator, and lived on a device in minutes that are shorter.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class DayCommand implements Callable<Integer> {
  private static final int CALLERS = 2;
  private static final Duration OVERLIMIT_PERIOD = Duration.ofMinutes(5);
  private static final Scheme GATES =
      Scheme.ALL.stream().filter(scheme -> scheme.name().equals("gates")).findAny().orElseThrow();

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();
  @Mixin private AcceleratorOptions accelerated = new AcceleratorOptions();
  @Mixin private FolderOptions chosen = new FolderOptions();

  @Option(
      names = "--sharing",
      required = true,
      split = ",",
      paramLabel = "FILE",
      description = {
        "What bench sharing wrote with --json of the same models on this device, way gates, best a "
            + "moment ago: what the simulator goes by."
      })
  private List<Path> sharing = List.of();

  @Option(names = "--online", paramLabel = "NAME", description = "As bench sharing has it.")
  private String online = "minilm-l6-v2 16";

  @Option(names = "--offline", paramLabel = "NAME", description = "As bench sharing has it.")
  private String offline = "ppocr-v4-det";

  @Option(
      names = "--minute-millis",
      paramLabel = "MS",
      description = "How long a minute of the day is (${DEFAULT-VALUE}).")
  private int minuteMillis = 200;

  @Option(
      names = "--interval",
      paramLabel = "MIN",
      description = "From one placement to the next (${DEFAULT-VALUE}).")
  private int interval = 15;

  @Option(names = "--seed", paramLabel = "N", description = "Of the first day (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Override
  public Integer call() throws Exception {
    requireSensible();
    MeasuredFigures measured = MeasuredFigures.read(sharing);
    if (Double.isNaN(measured.offlinePerSecond())) {
      throw new IllegalArgumentException(
          sharing.getFirst() + " does not say what offline work does alone; measure way gates");
    }
    AskedModels models = chosen.models(options.work(), accelerated);
    AskedModel first = models.find(online);
    AskedModel second = models.find(offline);
    Path repository =
        models.repository("day-" + first.model() + "-" + second.model(), List.of(first, second));
    Results results = new Results(DayColumns.TITLE, DayColumns.ALL, DayColumns.NOTES);
    try (CutOff measuring = options.publishIfCutOff(spec, results);
        LocalPipelane server =
            SharedServer.startWithGates(accelerated, repository, options.work())) {
      for (int round = 0; round < options.rounds(); round++) {
        compare(server, first, second, measured, seed + round, results);
      }
      measuring.complete();
      options.publish(
          spec,
          results,
          server.runtimeVersion(),
          Map.of("device", accelerated.device().toString(), "online", online, "offline", offline));
    }
    return 0;
  }

  private void requireSensible() {
    if (minuteMillis < 1 || minuteMillis > 60_000) {
      throw new IllegalArgumentException(
          "--minute-millis must be between 1 and 60000: " + minuteMillis);
    }
    if (interval < 1 || interval > 24 * 60) {
      throw new IllegalArgumentException("--interval must be between 1 and 1440: " + interval);
    }
  }

  private void compare(
      LocalPipelane server,
      AskedModel first,
      AskedModel second,
      MeasuredFigures measured,
      long daySeed,
      Results results)
      throws Exception {
    RequestRates rates = RequestRates.draw(1, daySeed);
    LiveDay day =
        new LiveDay(Duration.ofMillis(minuteMillis), interval, measured.offlinePerSecond(), rates);
    for (AskedModel asked : List.of(first, second)) {
      Timing.medianMillis(server.caller(asked, Priority.ONLINE), options.warmup());
    }
    for (Scheme scheme : List.of(Scheme.ONLINE_ONLY, GATES)) {
      Console.say(spec, "a day of " + scheme.name());
      ClusterSimulator simulator = simulator(scheme, measured, rates, daySeed);
      List<DayJob> jobs = scheme.equals(GATES) ? simulator.jobs() : List.of();
      LiveDay.Outcome live =
          day.live(
              server.openCaller(first),
              jobs,
              CALLERS,
              i -> server.caller(second, Priority.OFFLINE, i),
              daySeed);
      tell(scheme.name(), live, simulator.run(), results);
    }
  }

  private ClusterSimulator simulator(
      Scheme scheme, MeasuredFigures measured, RequestRates rates, long daySeed) {
    Fleet fleet = new Fleet.Measured(measured.sharing());
    VirtualCluster cluster = VirtualCluster.ALL.getLast().scaledTo(1);
    Setting setting =
        new Setting(cluster, fleet, rates, Duration.ofMinutes(interval), OVERLIMIT_PERIOD, daySeed);
    return new ClusterSimulator(setting, scheme, fleet.predictors(scheme.way(), 1, daySeed));
  }

  private static void tell(
      String row, LiveDay.Outcome live, ClusterOutcome simulated, Results results) {
    if (!live.isWhole()) {
      results.missing(row + ": a day whose jobs went on after it, not counted");
      return;
    }
    results.add(row, DayColumns.REQUESTS, live.latencies().count());
    results.add(row, DayColumns.FAILED, live.failed());
    DayColumns.MEAN.add(results, row, live.latencies().mean(), simulated.meanMillis());
    DayColumns.P99.add(results, row, live.latencies().quantile(0.99), simulated.p99Millis());
    if (!live.completions().isEmpty()) {
      results.add(row, DayColumns.JOBS, live.completions().size());
      DayColumns.COMPLETION.add(results, row, live.completion(), simulated.completionMinutes());
      DayColumns.OVERSOLD.add(results, row, live.alone() / live.had(), simulated.oversold());
    }
  }
}
