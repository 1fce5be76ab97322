package io.pipelane.bench.slo;

import io.pipelane.bench.report.ReportOptions;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.residency.Mix;
import io.pipelane.bench.residency.RecordedPlans;
import io.pipelane.bench.residency.Traffic;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.config.section.ResidencyConfig.Policy;
import io.pipelane.config.value.ByteSize;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.simulator.Replay;
import io.pipelane.switcher.simulator.SimulatedModel;
import io.pipelane.switcher.simulator.Simulator;
import io.pipelane.switcher.simulator.SimulatorSettings;
import io.pipelane.switcher.simulator.TracedUse;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench slo}: how many requests for thousands of models are answered in time. */
@Command(
    name = "slo",
    description =
        "Answers in time against the load that is offered to thousands of models in the "
            + "simulator, and to some small ones live, in this process, on the CPU.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class SloCommand implements Callable<Integer> {
  private static final EqualBytesGrouping GROUPS = new EqualBytesGrouping(32, 1 << 20);
  private static final Duration HALF_LIFE = Duration.ofMinutes(2);
  private static final long PAGE_BYTES = 16 << 20;
  private static final double NANOS_PER_SECOND = 1e9;
  private static final double NANOS_PER_MILLI = 1e6;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ReportOptions files = new ReportOptions();

  @Option(names = "--models", paramLabel = "N", description = "How many (${DEFAULT-VALUE}).")
  private int models = 2_000;

  @Option(
      names = "--memory",
      paramLabel = "SIZE",
      description = "For weights on the device (${DEFAULT-VALUE}).")
  private String memory = "120GiB";

  @Option(
      names = "--objective",
      paramLabel = "MS",
      description = "From a request's coming to its answer (${DEFAULT-VALUE}).")
  private double objective = 100;

  @Option(
      names = "--margin",
      paramLabel = "MS",
      description = "By which requests are planned to be early (${DEFAULT-VALUE}).")
  private double margin = 1;

  @Option(
      names = "--load",
      paramLabel = "X",
      split = ",",
      description = "Offered, of what one warm run after another gives (${DEFAULT-VALUE}).")
  private List<Double> loads = List.of(0.3, 0.6, 0.9, 1.2, 2.0);

  @Option(
      names = "--seconds",
      paramLabel = "S",
      description = "Length of a trace (${DEFAULT-VALUE}).")
  private int seconds = 120;

  @Option(names = "--seed", paramLabel = "N", description = "Of the traces (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Option(names = "--live-models", paramLabel = "N", description = "Live (${DEFAULT-VALUE}).")
  private int liveModels = 40;

  @Option(
      names = "--live-memory",
      paramLabel = "SIZE",
      description = "For their weights, live (${DEFAULT-VALUE}).")
  private String liveMemory = "16MiB";

  @Option(
      names = "--live-margin",
      paramLabel = "MS",
      description = {
        "By which requests are planned to be early, live, where runs vary (${DEFAULT-VALUE})."
      })
  private double liveMargin = 10;

  @Option(
      names = "--live-seconds",
      paramLabel = "S",
      description = "Of each load, live (${DEFAULT-VALUE}).")
  private double liveSeconds = 16;

  @Option(names = "--simulated-only", description = "Leave the CPU out.")
  private boolean simulatedOnly;

  @Override
  public Integer call() throws Exception {
    boolean isFine = models >= 1 && models <= 100_000 && objective > margin && margin >= 0;
    if (!isFine || seconds < 1 || seconds > 86_400 || loads.stream().anyMatch(x -> !(x > 0))) {
      throw new IllegalArgumentException(
          "--models is 1 to 100000, --seconds 1 to 86400, --load above 0, --objective above --margin");
    }
    boolean isLiveFine = liveModels >= 1 && liveModels <= 1_000 && liveMargin >= 0;
    if (!isLiveFine || objective <= liveMargin || !(liveSeconds >= 0.1 && liveSeconds <= 3_600)) {
      throw new IllegalArgumentException(
          "--live-models is 1 to 1000, --live-seconds 0.1 to 3600, --objective above --live-margin");
    }
    Mix mix = Mix.of("variants", RecordedPlans.h200().structures(), models);
    double meanNanos =
        mix.models().stream().mapToLong(m -> m.pipeline().warmNanos()).average().orElse(1);
    Results results = new Results(SloColumns.TITLE, SloColumns.ALL, SloColumns.NOTES);
    for (double load : loads) {
      double perSecond = load * NANOS_PER_SECOND / meanNanos;
      List<TracedUse> trace =
          Traffic.AZURE.requests(models, perSecond, Duration.ofSeconds(seconds), seed);
      Replay replay = simulator(mix.models()).replay(trace);
      int first = firstAfter(trace, seconds / 4.0);
      double counted = seconds - seconds / 4.0;
      String row = String.format(Locale.ROOT, "load %.1f", load);
      answers(replay.after(first), counted).tell(row, objective, results);
      results.add(row, SloColumns.STALL, replay.after(first).meanStallNanos() / NANOS_PER_MILLI);
    }
    String runtime = simulatedOnly ? "" : live(results);
    files.publish(spec, results, runtime);
    return 0;
  }

  private Simulator simulator(List<SimulatedModel> all) {
    ResidencyConfig residency =
        new ResidencyConfig(Policy.EXPECTED_STALL, HALF_LIFE, 0, true, true);
    SimulatorSettings settings =
        new SimulatorSettings(ByteSize.parse(memory).bytes(), PAGE_BYTES, 1, GROUPS, residency);
    return new Simulator(
        settings, all, _ -> {}, Math.round((objective - margin) * NANOS_PER_MILLI));
  }

  private static int firstAfter(List<TracedUse> trace, double time) {
    int first = 0;
    while (first < trace.size() && trace.get(first).nanos() < time * NANOS_PER_SECOND) {
      first++;
    }
    return first;
  }

  private Answers answers(Replay replay, double counted) {
    return new Answers(
        Arrays.stream(replay.latencyNanos())
            .mapToDouble(nanos -> nanos == Replay.REFUSED ? Double.NaN : nanos / NANOS_PER_MILLI)
            .toArray(),
        counted);
  }

  private String live(Results results) throws Exception {
    live("fifo", "live, load %.1f", results);
    return live("srtf", "live, srtf, load %.1f", results);
  }

  private String live(String policy, String row, Results results) throws Exception {
    try (LiveVariants variants = LiveVariants.start(files.work(), liveModels, liveMemory, policy)) {
      for (double load : loads) {
        Duration length = Duration.ofNanos(Math.round(liveSeconds * NANOS_PER_SECOND));
        variants
            .offer(load, length, objective - liveMargin, seed)
            .tell(String.format(Locale.ROOT, row, load), objective, results);
      }
      return variants.runtimeVersion();
    }
  }
}
