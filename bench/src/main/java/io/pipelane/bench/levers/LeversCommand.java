package io.pipelane.bench.levers;

import io.pipelane.bench.live.LiveOptions;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.CutOff;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.residency.RecordedPlans;
import io.pipelane.switcher.memory.account.Ledger;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench levers}: what each part of switching is worth. */
@Command(
    name = "levers",
    description =
        "The same stream of requests for more models than fit into memory, with "
            + "everything on and with each lever of switching off in turn: stalls, bytes moved "
            + "and latencies, live, in this process, and in the simulator on plans recorded on "
            + "an H200.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class LeversCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();

  @Mixin
  private LiveOptions live =
      new LiveOptions(
          "minilm-l6-v2 16", "ppocr-v4-rec", "minilm-l6-v2-q 16", "googlenet", "bge-small-en-q 16");

  @Option(
      names = "--lever",
      split = ",",
      paramLabel = "NAME",
      description =
          "Of ${COMPLETION-CANDIDATES}, those that are turned off; all unless told otherwise.")
  private List<Lever> turnedOff = List.of(Lever.values());

  @Option(
      names = "--copies",
      paramLabel = "N",
      description = "Names that each is served under (${DEFAULT-VALUE}).")
  private int copies = 4;

  @Option(
      names = "--share",
      paramLabel = "X",
      description = "Of all weights that memory has room for (${DEFAULT-VALUE}).")
  private double share = 0.25;

  @Option(
      names = "--link",
      paramLabel = "RATE",
      description = "Of the CPU device (${DEFAULT-VALUE}); a GPU's is what it is.")
  private String link = "2GB/s";

  @Option(
      names = "--rate",
      paramLabel = "R",
      description = "Requests per second of all models together (${DEFAULT-VALUE}).")
  private double perSecond = 20;

  @Option(names = "--seed", paramLabel = "N", description = "Of the requests (${DEFAULT-VALUE}).")
  private long seed = 1;

  private String runtimeVersion = "";

  @Override
  public Integer call() throws Exception {
    if (!(share > 0 && share <= 1) || copies < 1 || !(perSecond > 0)) {
      throw new IllegalArgumentException(
          "--share must be above 0 and at most 1, --copies 1 at least, --rate above 0: %s, %d, %s"
              .formatted(share, copies, perSecond));
    }
    List<Lever> levers =
        Stream.concat(Stream.of(Lever.NONE), turnedOff.stream()).distinct().toList();
    Results results = new Results(LeversColumns.TITLE, LeversColumns.ALL, LeversColumns.NOTES);
    Map<String, String> description = live.isLive() ? measure(levers, results) : Map.of();
    if (live.isSimulated()) {
      Console.say(spec, "simulating");
      SimulatedLevers simulated = new SimulatedLevers(RecordedPlans.h200());
      for (int round = 0; round < options.rounds(); round++) {
        simulated.measure(levers, seed + round, results);
      }
    }
    options.publish(spec, results, runtimeVersion, description);
    return 0;
  }

  /** Measures them live; what is to be known of that. */
  private Map<String, String> measure(List<Lever> levers, Results results) throws Exception {
    Path work = options.work();
    List<AskedModel> asked = live.models(work);
    if (!live.isOnGpu()) { // A GPU's link is measured at each start.
      Console.say(spec, "measuring the link");
      LocalPipelane.calibrate(work, settings(work));
    }
    String memory = "";
    try (CutOff measuring = options.publishIfCutOff(spec, results)) {
      for (Workload workload : Workload.values()) {
        List<Lever> shown = levers.stream().filter(lever -> lever.isShownBy(workload)).toList();
        if (shown.size() > 1) {
          String given = measure(workload, shown, asked, results);
          memory = memory.isEmpty() ? given : memory;
        }
      }
      measuring.complete();
    }
    return live.isOnGpu()
        ? Map.of("device", live.device(), "memory", memory)
        : Map.of("link", link, "memory", memory);
  }

  /** Measures those that a workload shows; what memory models had. */
  private String measure(
      Workload workload, List<Lever> levers, List<AskedModel> asked, Results results)
      throws Exception {
    Path work = options.work();
    boolean differ = workload == Workload.VERSIONS;
    String served = asked.stream().map(AskedModel::model).collect(Collectors.joining("-"));
    Path repository = work.resolve("levers-" + (differ ? "versions-" : "") + copies + "-" + served);
    LeverModels models = LeverModels.write(repository, asked, copies, differ);
    LeverRounds rounds =
        new LeverRounds(
            live.label(),
            workload,
            levers,
            models,
            perSecond,
            options.warmup(),
            options.length(),
            work.resolve("cache"));
    Map<String, String> settings = settings(work);
    workload.settings().forEach(settings::putIfAbsent); // Those that were asked for go before.
    Console.say(spec, "importing");
    long bytes = memoryBytes(repository, settings, rounds, workload.allFit() ? 1 : share);
    settings.put("device.memory", Long.toString(bytes));
    for (int round = 0; round < options.rounds(); round++) {
      int number = round + 1;
      rounds.measure(
          round,
          seed + round,
          lever -> {
            Console.say(spec, "round " + number + workload.label() + ", " + lever.label());
            LocalPipelane server = start(repository, settings, lever);
            runtimeVersion = server.runtimeVersion();
            return server;
          },
          results);
    }
    return bytes + " bytes";
  }

  private Map<String, String> settings(Path work) {
    Map<String, String> settings = new HashMap<>();
    settings.put("device.lanes", "1");
    settings.put("queue.max-requests", "1000000");
    settings.put("workers.isolation", "thread");
    if (!live.isOnGpu()) {
      settings.put("device.page-size", "1MiB");
      settings.put("link.bandwidth", link);
    }
    settings.putAll(live.serverSettings(work));
    return settings;
  }

  private LocalPipelane start(Path repository, Map<String, String> settings, Lever lever)
      throws IOException, InterruptedException {
    Map<String, String> all = new HashMap<>(settings);
    all.putAll(lever.settings());
    return LocalPipelane.start(repository, options.work(), all);
  }

  /** Room for a share in whole pages, but for the largest model at least in whatever form. */
  private long memoryBytes(
      Path repository, Map<String, String> settings, LeverRounds rounds, double share)
      throws IOException, InterruptedException {
    Map<String, String> plenty = new HashMap<>(settings);
    plenty.put("device.memory", live.isOnGpu() ? "64GiB" : "16GiB");
    long largest;
    try (LocalPipelane server = start(repository, plenty, Lever.READING_IN_PLACE)) {
      largest = server.roomForLargest();
    }
    try (LocalPipelane server = start(repository, plenty, Lever.NONE)) {
      rounds.warmUp(server);
      Ledger weights = server.memory().weights();
      double all = weights.entries().stream().mapToLong(e -> e.weightBytes()).sum();
      long pages = share < 1 ? 0 : weights.entries().size() * weights.pageBytes();
      return Math.max(largest, Math.round(share * all) + pages);
    }
  }
}
