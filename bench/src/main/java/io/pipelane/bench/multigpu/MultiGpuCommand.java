package io.pipelane.bench.multigpu;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.AskedModels;
import io.pipelane.bench.model.ModelCopies;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.Results;
import io.pipelane.config.value.DeviceSelection;
import io.pipelane.demo.protocol.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench multi-gpu}: how requests are spread over devices, and the loss of one. */
@Command(
    name = "multi-gpu",
    description =
        "Routing against round robin for models that take twice the memory of all "
            + "devices, and what becomes of requests when a device is lost.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class MultiGpuCommand implements Callable<Integer> {
  private static final long PAGE_BYTES = 64 << 10;
  private static final Duration ALONE = Duration.ofSeconds(1);

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();
  @Mixin private AcceleratorOptions requests = AcceleratorOptions.ofSeveral();

  @Option(
      names = "--case",
      paramLabel = "NAME",
      description = "The model, or the beginning of a case (${DEFAULT-VALUE}).")
  private String caseName = "ppocr-cls";

  @Option(
      names = "--models",
      paramLabel = "N",
      description = "Under so many names, with a session each (${DEFAULT-VALUE}).")
  private int models = 24;

  @Option(
      names = "--link",
      paramLabel = "RATE",
      description = "Of each CPU device (${DEFAULT-VALUE}).")
  private String link = "500MB/s";

  @Option(
      names = "--load",
      paramLabel = "X",
      description = "Of what the devices can do, with one lane each (${DEFAULT-VALUE}).")
  private double load = 0.25;

  @Option(names = "--seed", paramLabel = "N", description = "Of the requests (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Option(
      names = "--way",
      paramLabel = "WAY,...",
      split = ",",
      description = "Ways to measure, all unless told otherwise: ${COMPLETION-CANDIDATES}.")
  private List<Way> ways = new ArrayList<>(List.of(Way.values()));

  @Option(names = "--without-loss", description = "Leave out the turns in which a device is lost.")
  private boolean withoutLoss;

  @Override
  public Integer call() throws Exception {
    int devices = requests.ordinals().size();
    if (models < 2 * devices || models > 1_000 || !(load > 0 && load < 1)) {
      throw new IllegalArgumentException(
          "--models is from two a device to 1000, --load above 0 and below 1");
    }
    Path work = options.work();
    AskedModel asked = new AskedModels(work, requests, null).find(caseName);
    Path repository = work.resolve("multi-gpu-" + asked.model() + "-" + models);
    List<String> names = ModelCopies.write(repository, asked.file(), asked.model(), models);
    Map<String, String> settings = settings(Files.size(asked.file()), devices);
    if (requests.device() instanceof DeviceSelection.Cpu) {
      LocalPipelane.calibrate(work, settings);
    }
    List<Turn> first = Turn.ofRound(ways, !withoutLoss, 0);
    if (first.isEmpty()) {
      throw new IllegalArgumentException("--without-loss and --way " + ways + " leave nothing");
    }
    Scene scene = new Scene(repository, settings, asked, names);
    double perSecond = load * devices * 1e3 / aloneMillis(scene);
    Results unmeasured = newResults();
    String runtime = measure(first.getFirst(), 0, perSecond, scene, unmeasured);
    Results results = newResults();
    for (int round = 0; round < options.rounds(); round++) {
      Console.say(spec, "round " + (round + 1) + " of " + options.rounds());
      for (Turn turn : Turn.ofRound(ways, !withoutLoss, round)) {
        runtime = measure(turn, round, perSecond, scene, results);
      }
    }
    options.publish(
        spec,
        results,
        runtime,
        Map.of(
            "devices",
            requests.device().toString(),
            "link",
            link,
            "models",
            names.size() + " of " + asked.name(),
            "requests",
            String.format(Locale.ROOT, "%.0f/s", perSecond)));
    return 0;
  }

  /** The parts that all turns have in common. */
  private record Scene(
      Path repository, Map<String, String> settings, AskedModel asked, List<String> names) {
    Map<String, String> settings(Way way) {
      Map<String, String> all = new HashMap<>(settings);
      all.putAll(way.settings());
      return all;
    }
  }

  private static Results newResults() {
    return new Results(MultiGpuColumns.TITLE, MultiGpuColumns.ALL, MultiGpuColumns.NOTES);
  }

  /** What a run takes, without a stall. */
  private double aloneMillis(Scene scene) throws Exception {
    String model = scene.names().getFirst();
    try (LocalPipelane server = start(scene, Way.STATIC)) {
      LocalCaller caller = server.caller(model, server.inputs(scene.asked(), model));
      double _ = Timing.medianMillis(caller, options.warmup());
      return Timing.medianMillis(caller, ALONE);
    }
  }

  private LocalPipelane start(Scene scene, Way way) throws IOException, InterruptedException {
    return LocalPipelane.start(scene.repository(), options.work(), scene.settings(way));
  }

  private String measure(Turn turn, int round, double perSecond, Scene scene, Results results)
      throws Exception {
    try (LocalPipelane server = start(scene, turn.way())) {
      List<Tensor> inputs = server.inputs(scene.asked(), scene.names().getFirst());
      SpreadLoad spread = new SpreadLoad(server, scene.names(), inputs, perSecond);
      spread.warmUp(options.warmup(), seed + round);
      if (turn.way().asksFirstAlone()) {
        spread = spread.ofFirstDevice(inputs);
        spread.warmUp(options.warmup(), seed + round);
      }
      if (turn.withLoss()) {
        spread.measureLoss(turn.row(), options.length(), seed + round, results);
      } else {
        spread.measure(turn.row(), options.length(), seed + round, results);
      }
      return server.runtimeVersion();
    }
  }

  private Map<String, String> settings(long modelBytes, int devices) throws IOException {
    long pagesOfOne = Math.ceilDiv(modelBytes, PAGE_BYTES) + 1; // Weights may be repacked.
    long pages = Math.max(2, models / (2 * devices)) * pagesOfOne;
    Map<String, String> settings = requests.serverSettings(options.work());
    settings.put("device.lanes", "1");
    if (requests.device() instanceof DeviceSelection.Cpu) {
      settings.put("device.page-size", Long.toString(PAGE_BYTES));
      settings.put("device.memory", Long.toString(pages * PAGE_BYTES));
      settings.put("link.bandwidth", link);
    } else {
      settings.put("device.memory", Long.toString(models * modelBytes / (2L * devices)));
      settings.put("workers.isolation", "thread");
    }
    settings.put("switching.share-structures", "never");
    settings.put("queue.max-requests", "1000000");
    settings.put("queue.max-bytes", "64GiB");
    return settings;
  }
}
