package io.pipelane.bench.workers;

import ai.onnxruntime.OrtEnvironment;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.bench.accelerator.AcceleratorOptions;
import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.model.AskedModels;
import io.pipelane.bench.process.ChildProcess;
import io.pipelane.bench.process.ServerMain;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.CutOff;
import io.pipelane.bench.report.Results;
import io.pipelane.demo.protocol.InferenceClient;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.lanes.process.WorkersOverview;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench workers}: ways to change the process when another model's turn has come. */
@Command(
    name = "workers",
    description =
        "What it costs to run another model: stopping and starting everything, two "
            + "processes, one process, and active and standby workers (PipeSwitch, tables 1 and "
            + "2, figure 9).",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class WorkersCommand implements Callable<Integer> {
  private static final String STOP_AND_START = "stop and start";
  private static final String COPY_EACH = "a copy each (memory alone)";
  private static final int UNCOUNTED_IMPORTS = 4;
  private static final int RUNS_BEFORE = 2;
  private static final int WARM_RUNS = 9;
  private static final int WORKERS = 3;
  private static final double MEGA = 1e6;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();

  @Mixin private AcceleratorOptions requests = new AcceleratorOptions(1);

  @Option(
      names = "--model",
      split = ",",
      paramLabel = "NAME,NAME",
      description = {
        "The model that leaves and the one that comes, of the zoo or beginnings of the names of the "
            + "demo's cases (${DEFAULT-VALUE})."
      })
  private List<String> models = List.of("ppocr-v4-rec", "minilm-l6-v2 16");

  @Option(
      names = "--way",
      paramLabel = "WAY,...",
      split = ",",
      description = "Ways to measure, all unless told otherwise: ${COMPLETION-CANDIDATES}.")
  private List<Way> ways = new ArrayList<>(List.of(Way.values()));

  @Override
  public Integer call() throws Exception {
    if (models.size() != 2) {
      throw new IllegalArgumentException("--model names two models: " + models);
    }
    Path work = options.work();
    AskedModels known = new AskedModels(work, requests, null);
    AskedModel before = known.find(models.getFirst());
    AskedModel next = known.find(models.getLast());
    Path repository =
        known.repository(
            "workers-%s-%s".formatted(before.model(), next.model()), List.of(before, next));
    own(repository, before, "one");
    own(repository, next, "another");
    Map<String, String> settings = settings(work, repository);
    Results results = new Results(WorkersColumns.TITLE, WorkersColumns.ALL, WorkersColumns.NOTES);
    try (CutOff measuring = options.publishIfCutOff(spec, results)) {
      Console.say(spec, STOP_AND_START);
      stopAndStart(work, settings, next, inputs(settings, next), results);
      List<Long> groups = List.of();
      long pageBytes = 0;
      for (Way way : ways) {
        Console.say(spec, way.description());
        try (SwitchedServer server = SwitchedServer.start(settings, way.settings())) {
          measure(way, server, before, next, results);
          groups = server.groupBytes(next);
          pageBytes = server.ledger().pageBytes();
        }
      }
      importHandles(groups, pageBytes, results);
      results.add(
          COPY_EACH,
          WorkersColumns.MEMORY,
          PlainMain.sessionBytes(work, List.of(before.file(), next.file()), WORKERS) / MEGA);
      measuring.complete();
    }
    options.publish(
        spec,
        results,
        OrtEnvironment.getEnvironment().getVersion(),
        Map.of("device", requests.device().toString(), "from", before.name(), "to", next.name()));
    return 0;
  }

  /** One lane, so that there is one session of each model in a worker on any device. */
  private Map<String, String> settings(Path work, Path repository) {
    Map<String, String> settings = requests.serverSettings(work);
    settings.put("repository.path", repository.toString());
    settings.put("repository.cache", work.resolve("cache").toString());
    settings.put("device.memory", "1GiB");
    settings.put("device.lanes", "1");
    settings.put("server.http-port", "0");
    return settings;
  }

  private static List<Tensor> inputs(Map<String, String> settings, AskedModel asked)
      throws InterruptedException {
    try (SwitchedServer server = SwitchedServer.start(settings, Way.ONE_PROCESS.settings())) {
      return server.inputs(asked);
    }
  }

  private static void own(Path repository, AskedModel asked, String tenant) throws IOException {
    Files.writeString(
        repository.resolve(asked.model()).resolve("pipelane.yaml"), "tenant: " + tenant + "\n");
  }

  private void measure(
      Way way, SwitchedServer server, AskedModel before, AskedModel next, Results results)
      throws Exception {
    LocalCaller old = server.caller(before);
    LocalCaller caller = server.caller(next);
    for (int i = 0; i < RUNS_BEFORE; i++) {
      old.run();
      caller.run();
    }
    int workers = server.workers().workers().size();
    for (int round = 0; round < options.rounds(); round++) {
      old.run();
      server.evict(next);
      server.awaitBuilt(workers, 2);
      server.awaitWarmedUp(2);
      long oldPid = server.activePid();
      double cleaning = clean(way, server, before, oldPid);
      double total = Timing.millis(caller);
      double beside = way.switches() ? Timing.millis(() -> SwitchedServer.awaitGone(oldPid)) : 0;
      boolean replaced = way.endsFirst() || way.switches();
      long newPid = server.activePid();
      WorkersOverview overview = server.workers();
      int warmedUp = server.active().map(WorkersOverview.Entry::warmedUp).orElse(0);
      double initialisation = replaced ? overview.lastPauseNanos() / MEGA : 0;
      double transmission = caller.timings().stallNanos() / MEGA;
      server.awaitBuilt(workers, 2);
      server.awaitWarmedUp(2);
      double warm = warmMillis(caller);
      String name = way.description();
      results.add(name, WorkersColumns.OVERHEAD, cleaning + total - warm);
      results.add(name, WorkersColumns.CLEANING, cleaning);
      results.add(name, WorkersColumns.INITIALISATION, initialisation);
      results.add(
          name,
          WorkersColumns.ALLOCATION,
          Math.max(0, total - warm - initialisation - transmission));
      results.add(name, WorkersColumns.TRANSMISSION, transmission);
      results.add(name, WorkersColumns.BESIDE, beside);
      results.add(name, WorkersColumns.ISOLATED, newPid == oldPid ? 0 : 1);
      results.add(name, WorkersColumns.WARM, warm);
      results.add(name, WorkersColumns.WARMED_UP, warmedUp);
      results.add(
          name,
          WorkersColumns.DEVICE_MEMORY,
          overview.workers().stream().mapToLong(WorkersOverview.Entry::deviceBytes).sum() / MEGA);
      results.add(
          name,
          WorkersColumns.MEMORY,
          overview.workers().stream().mapToLong(WorkersOverview.Entry::memoryBytes).sum() / MEGA);
    }
  }

  /**
   * In turn, so that drift of the machine hits both alike; the first times load and compile code.
   */
  private void importHandles(List<Long> groups, long pageBytes, Results results) throws Exception {
    String times = " of %d groups (mapping alone)".formatted(groups.size());
    String once = "memory opened once for all" + times;
    String perGroup = "memory opened for each" + times;
    try (HandleImports imports = HandleImports.of(requests.device(), groups, pageBytes)) {
      for (int i = 0; i < UNCOUNTED_IMPORTS; i++) {
        imports.openedOnceMillis();
        imports.openedPerGroupMillis();
      }
      for (int round = 0; round < options.rounds(); round++) {
        results.add(once, WorkersColumns.ALLOCATION, imports.openedOnceMillis());
        results.add(perGroup, WorkersColumns.ALLOCATION, imports.openedPerGroupMillis());
      }
    }
  }

  private static double warmMillis(LocalCaller caller) throws Exception {
    Samples samples = new Samples();
    for (int i = 0; i < WARM_RUNS; i++) {
      samples.add(Timing.millis(caller));
    }
    return samples.median();
  }

  /** What has to be over before the other model may begin. */
  private static double clean(Way way, SwitchedServer server, AskedModel before, long oldPid)
      throws Exception {
    if (way.endsFirst()) {
      return Timing.millis(() -> SwitchedServer.kill(oldPid));
    }
    return way.switches() ? 0 : Timing.millis(() -> server.evict(before));
  }

  private void stopAndStart(
      Path work,
      Map<String, String> settings,
      AskedModel next,
      List<Tensor> inputs,
      Results results)
      throws Exception {
    List<String> arguments =
        settings.entrySet().stream().map(each -> each.getKey() + "=" + each.getValue()).toList();
    ChildProcess server =
        ChildProcess.start(work.resolve("server.log"), ServerMain.class, arguments);
    try {
      for (int round = 0; round < options.rounds(); round++) {
        Process old = server.process();
        double cleaning = Timing.millis(() -> old.destroyForcibly().waitFor());
        server.close();
        long begin = System.nanoTime();
        server = ChildProcess.start(work.resolve("server.log"), ServerMain.class, arguments);
        double initialisation = (System.nanoTime() - begin) / MEGA;
        try (InferenceClient client = new InferenceClient(server.url())) {
          double first = Timing.millis(() -> client.infer(next.model(), inputs));
          Samples warm = new Samples();
          for (int i = 0; i < WARM_RUNS; i++) {
            warm.add(Timing.millis(() -> client.infer(next.model(), inputs)));
          }
          double rest = first - warm.median();
          double stall = stallMillis(server.url(), next.model());
          results.add(STOP_AND_START, WorkersColumns.OVERHEAD, cleaning + initialisation + rest);
          results.add(STOP_AND_START, WorkersColumns.CLEANING, cleaning);
          results.add(STOP_AND_START, WorkersColumns.INITIALISATION, initialisation);
          results.add(STOP_AND_START, WorkersColumns.ALLOCATION, rest - stall);
          results.add(STOP_AND_START, WorkersColumns.TRANSMISSION, stall);
          results.add(STOP_AND_START, WorkersColumns.ISOLATED, 1);
          results.add(STOP_AND_START, WorkersColumns.WARM, warm.median());
        }
      }
    } finally {
      server.close();
    }
  }

  /** What a model's runs have waited for weights in a server; only its first one does. */
  private static double stallMillis(URI server, String model)
      throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(server.resolve("/v2/models/" + model + "/stats")).build();
    try (HttpClient http = HttpClient.newHttpClient()) {
      byte[] body = http.send(request, HttpResponse.BodyHandlers.ofByteArray()).body();
      JsonNode stats = new ObjectMapper().readTree(body);
      return stats.at("/model_stats/0/inference_stats/stall/ns").asLong() / MEGA;
    }
  }
}
