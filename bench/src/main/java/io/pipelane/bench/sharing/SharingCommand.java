package io.pipelane.bench.sharing;

import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.OfflineLoad;
import io.pipelane.bench.model.FolderOptions;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.CutOff;
import io.pipelane.bench.report.Results;
import io.pipelane.config.PipelaneConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench sharing}: what offline work costs online work, and what it gets. */
@Command(
    name = "sharing",
    description =
        "Latencies of online requests while offline work runs on the same device, against "
            + "online work alone, and what offline work gets, for each way of sharing.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class SharingCommand implements Callable<Integer> {
  private static final String MPS_PERCENTAGE = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE";

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();
  @Mixin private AcceleratorOptions accelerated = new AcceleratorOptions();

  @Mixin private FolderOptions chosen = new FolderOptions();

  @Option(
      names = "--online",
      paramLabel = "NAME",
      description = "The online model, or the beginning of a case (${DEFAULT-VALUE}).")
  private String online = "minilm-l6-v2 16";

  @Option(
      names = "--offline",
      paramLabel = "NAME",
      description = "The offline model, or the beginning of a case (${DEFAULT-VALUE}).")
  private String offline = "ppocr-v4-det";

  @Option(
      names = "--rate",
      split = ",",
      paramLabel = "R",
      description = "Online requests a second, one rate after another (${DEFAULT-VALUE}).")
  private List<Double> rates = List.of(20.0, 100.0);

  @Option(
      names = "--arrivals",
      paramLabel = "SPREAD",
      description =
          "How online requests are spread, of ${COMPLETION-CANDIDATES} (${DEFAULT-VALUE}): at random,"
              + " or at equal intervals, which the server can foretell.")
  private OnlineRequests.Spread arrivals = OnlineRequests.Spread.POISSON;

  @Option(
      names = "--requests",
      paramLabel = "N",
      description = "Online requests of each measurement, about, in place of --seconds.")
  private int requests;

  @Option(
      names = "--way",
      split = ",",
      paramLabel = "WAY",
      description = "Beside alone, of ${COMPLETION-CANDIDATES} (${DEFAULT-VALUE}).")
  private List<Way> ways = List.of(Way.PLAIN, Way.CLASSES, Way.GATES);

  @Option(
      names = "--share",
      split = ",",
      paramLabel = "PERCENT",
      description =
          "Of the multiprocessors, what offline work has in ways shares, gates-shares, measured and"
              + " mps, one after another (${DEFAULT-VALUE}).")
  private List<Integer> percents = List.of(10, 20, 50);

  @Option(
      names = "--p99-svg",
      paramLabel = "FILE",
      description = "Draw the online p99 by rate and way, too.")
  private @Nullable Path p99Plot;

  @Option(
      names = "--offline-svg",
      paramLabel = "FILE",
      description = "Draw what offline work gets by rate and way, too.")
  private @Nullable Path offlinePlot;

  @Option(
      names = "--callers",
      paramLabel = "N",
      description = "Offline callers; each asks again once it is answered (${DEFAULT-VALUE}).")
  private int callers = 2;

  @Option(
      names = "--lanes",
      paramLabel = "N",
      description = "Inferences at a time (${DEFAULT-VALUE}).")
  private int lanes = 1;

  @Option(
      names = "--max-slowdown",
      paramLabel = "X",
      description = "The online model's limits.max-slowdown; none unless told otherwise.")
  private double maxSlowdown;

  @Option(
      names = "--host-threads",
      paramLabel = "N",
      description =
          "Threads that take all processor time they get beside offline work, as urgent as those of"
              + " jobs and where those are (sharing.offline-nice, sharing.offline-processors); none"
              + " unless told otherwise.")
  private int hostThreads;

  @Option(
      names = "--memory-overload",
      description =
          "Again and again take so much of the host's memory beside offline work that the device is"
              + " over its limit for it, and give it back once what offline work held has come back"
              + " (sharing.host-memory, which is set for this, like sharing.overlimit-period).")
  private boolean memoryOverload;

  @Option(
      names = "--offline-env",
      paramLabel = "NAME=VALUE",
      description =
          "Environment of the process of way processes, beside this one's, such as"
              + " CUDA_MPS_ACTIVE_THREAD_PERCENTAGE; may be repeated.")
  private Map<String, String> offlineEnvironment = Map.of();

  private Neighbours neighbours = new Neighbours(0, false, PipelaneConfig.defaults().sharing());

  @Option(names = OfflineProcess.OPTION, hidden = true)
  private @Nullable Path offlineProcess;

  @Option(names = "--seed", paramLabel = "N", description = "Of the arrivals (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Option(
      names = "--set",
      paramLabel = "KEY=VALUE",
      description = "The server's configuration, on top of the benchmark's; may be repeated.")
  private Map<String, String> settings = Map.of();

  @Override
  public Integer call() throws Exception {
    requireSensible();
    Path work = options.work();
    Pair pair = Pair.of(chosen.models(work, accelerated), online, offline, maxSlowdown);
    neighbours = new Neighbours(hostThreads, memoryOverload, PipelaneConfig.of(settings).sharing());
    OnlineRequests sent = new OnlineRequests(rates, arrivals, this::length);
    Results results = new Results(SharingColumns.TITLE, SharingColumns.ALL, SharingColumns.NOTES);
    SharingRounds rounds =
        new SharingRounds(pair, sent, callers, lanes, neighbours, options.warmup(), results);
    if (offlineProcess != null) {
      workOffline(rounds, pair, work.resolve("offline"), offlineProcess);
      return 0;
    }
    List<Scene> scenes = possible(Scene.of(ways, percents), results);
    String runtimeVersion = "";
    boolean underMps = scenes.stream().anyMatch(scene -> scene.way() == Way.MPS);
    String device = accelerated.device() + (underMps ? ", every way and alone under MPS" : "");
    try (CutOff measuring = options.publishIfCutOff(spec, results);
        @Nullable MpsServer _ = underMps ? MpsServer.start() : null) {
      for (int round = 0; round < options.rounds(); round++) {
        Console.say(spec, "round " + (round + 1) + " of " + options.rounds());
        runtimeVersion = rounds.measure(scenes, servers(pair.repository(), work), seed + round);
      }
      measuring.complete();
    }
    rounds.finish(seed);
    draw(results, sent, scenes);
    options.publish(
        spec,
        results,
        runtimeVersion,
        Map.of("device", device, "online", online, "offline", offline));
    return 0;
  }

  /** Without those that cannot be measured here, which get a row that says why. */
  private static List<Scene> possible(List<Scene> scenes, Results results) {
    Optional<String> mps = MpsServer.obstacle(System.getenv());
    List<Scene> possible = new ArrayList<>();
    for (Scene scene : scenes) {
      Optional<String> obstacle =
          switch (scene.way()) {
            case MPS -> mps;
            case MPS_MANAGED ->
                Optional.of("weights lie in pages of CUDA's virtual memory, which is not managed");
            default -> Optional.empty();
          };
      if (obstacle.isEmpty()) {
        possible.add(scene);
      } else {
        results.missing(scene + ": not measured, " + obstacle.get());
      }
    }
    return possible;
  }

  private void draw(Results results, OnlineRequests sent, List<Scene> scenes) throws IOException {
    if (p99Plot != null) {
      String title = "Online p99 in ms, by online requests a second";
      SharingPlots.draw(results, sent, scenes, SharingColumns.P99, title, p99Plot);
    }
    if (offlinePlot != null) {
      String title = "Offline runs, of their rate alone, by online requests a second";
      SharingPlots.draw(results, sent, scenes, SharingColumns.OVERSOLD, title, offlinePlot);
    }
  }

  private SharingRounds.Servers servers(Path models, Path work) {
    return new SharingRounds.Servers() {
      @Override
      public LocalPipelane start(Scene scene) throws IOException, InterruptedException {
        return SharingCommand.this.start(models, work, scene);
      }

      @Override
      public OfflineRuns startProcess(Scene scene) throws IOException, InterruptedException {
        List<String> arguments = spec.root().commandLine().getParseResult().originalArgs();
        Map<String, String> environment = new HashMap<>(offlineEnvironment);
        if (scene.way() == Way.MPS) {
          environment.put(MPS_PERCENTAGE, Integer.toString(scene.percent()));
        }
        return new OfflineProcess(work, arguments, environment);
      }
    };
  }

  /** In the process of {@link Way#PROCESSES}. */
  private void workOffline(SharingRounds rounds, Pair pair, Path work, Path file)
      throws IOException, InterruptedException {
    Files.createDirectories(work);
    try (LocalPipelane server = start(pair.repository(), work, new Scene(Way.PROCESSES, 100));
        OfflineLoad load = rounds.load(server, Way.PROCESSES.offline())) {
      OfflineProcess.work(load, file);
    }
  }

  /** Of a measurement at a rate. */
  private Duration length(double rate) {
    return requests > 0 ? Duration.ofNanos((long) (requests / rate * 1e9)) : options.length();
  }

  private void requireSensible() {
    if (hostThreads < 0 || hostThreads > 1_000) {
      throw new IllegalArgumentException("--host-threads must be at most 1000: " + hostThreads);
    }
    if (requests < 0 || requests > 1_000_000) {
      throw new IllegalArgumentException("--requests must be at most 1000000: " + requests);
    }
    if (rates.stream().anyMatch(rate -> !(rate > 0 && rate <= 100_000))) {
      throw new IllegalArgumentException("--rate must be above 0 and at most 100000: " + rates);
    }
    if (percents.stream().anyMatch(percent -> percent < 1 || percent > 100)) {
      throw new IllegalArgumentException("--share must be from 1 to 100: " + percents);
    }
    requireNotBesideMps();
    if (memoryOverload && settings.containsKey("sharing.host-memory")) {
      throw new IllegalArgumentException(
          "--memory-overload sets sharing.host-memory by itself; leave out one of the two");
    }
    if (callers < 1 || callers > 1_000 || lanes < 1 || lanes > 256) {
      throw new IllegalArgumentException(
          "--callers must be between 1 and 1000, --lanes between 1 and 256: "
              + (callers + " and " + lanes));
    }
  }

  /** The service is there for a whole call, and what else runs then is not what its name says. */
  private void requireNotBesideMps() {
    List<Way> others = new ArrayList<>(ways);
    others.removeAll(List.of(Way.ALONE, Way.MPS, Way.MPS_MANAGED));
    if (ways.contains(Way.MPS) && !others.isEmpty()) {
      throw new IllegalArgumentException(
          "--way mps must be measured by itself, as everything runs under MPS while it is there;"
              + " measure these in another call: "
              + others);
    }
  }

  private LocalPipelane start(Path models, Path work, Scene scene)
      throws IOException, InterruptedException {
    Map<String, String> all = new HashMap<>(neighbours.settings());
    all.putAll(settings);
    return SharedServer.start(accelerated, models, work, scene, lanes, all);
  }
}
