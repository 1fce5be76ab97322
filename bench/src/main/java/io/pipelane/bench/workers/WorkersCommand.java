package io.pipelane.bench.workers;

import ai.onnxruntime.OrtEnvironment;
import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.bench.process.ChildProcess;
import io.pipelane.bench.process.ServerMain;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Results;
import io.pipelane.demo.protocol.InferenceClient;
import io.pipelane.lanes.process.WorkersOverview;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench workers}: ways to change the process when another model's turn has come. */
@Command(
    name = "workers",
    description = {
      "What it costs to run another model: stopping and starting everything, two processes, one",
      "process, and active and standby workers (PipeSwitch, tables 1 and 2, figure 9)."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class WorkersCommand implements Callable<Integer> {
  private static final String STOP_AND_START = "stop and start";
  private static final String COPY_EACH = "a copy each (memory alone)";
  private static final int UNCOUNTED_IMPORTS = 4;
  private static final int WARM_RUNS = 9;
  private static final int WORKERS = 3;
  private static final double MEGA = 1e6;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();

  @Option(
      names = "--device",
      paramLabel = "DEVICE",
      defaultValue = "cpu",
      description = "What to serve on, as device.kind is written (${DEFAULT-VALUE}).")
  private String device = "cpu";

  @Option(
      names = "--way",
      paramLabel = "WAY,...",
      split = ",",
      description = "Ways to measure, all unless told otherwise: ${COMPLETION-CANDIDATES}.")
  private List<Way> ways = new ArrayList<>(List.of(Way.values()));

  @Override
  public Integer call() throws Exception {
    Path work = options.work();
    Path repository = work.resolve("workers");
    List<BenchCase> cases = BenchCase.all(repository);
    BenchCase next = cases.getFirst();
    BenchCase before =
        cases.stream()
            .filter(each -> each.name().endsWith("48x320"))
            .findFirst()
            .orElseThrow(() -> new IllegalStateException("no such case"));
    BenchCase.write(repository, List.of(before, next));
    own(repository, before, "one");
    own(repository, next, "another");
    Results results = new Results(WorkersColumns.TITLE, WorkersColumns.ALL, WorkersColumns.NOTES);
    stopAndStart(work, repository, next, results);
    List<Long> groups = List.of();
    long pageBytes = 0;
    for (Way way : ways) {
      try (SwitchedServer server = SwitchedServer.start(repository, work, device, way.settings())) {
        measure(way, server, before, next, results);
        groups = server.groupBytes(next);
        pageBytes = server.ledger().pageBytes();
      }
    }
    importHandles(groups, pageBytes, results);
    results.add(
        COPY_EACH,
        WorkersColumns.MEMORY,
        WORKERS * PlainMain.privateBytes(work, List.of(before.file(), next.file())) / MEGA);
    options.publish(spec, results, OrtEnvironment.getEnvironment().getVersion());
    return 0;
  }

  private static void own(Path repository, BenchCase benchCase, String tenant) throws IOException {
    Files.writeString(
        repository.resolve(benchCase.model()).resolve("pipelane.yaml"), "tenant: " + tenant + "\n");
  }

  private void measure(
      Way way, SwitchedServer server, BenchCase before, BenchCase next, Results results)
      throws Exception {
    LocalCaller old = server.caller(before);
    LocalCaller caller = server.caller(next);
    caller.run();
    int workers = server.workers().workers().size();
    for (int round = 0; round < options.rounds(); round++) {
      old.run();
      server.evict(next);
      server.awaitBuilt(workers, 2);
      long oldPid = server.activePid();
      double cleaning = clean(way, server, before, oldPid);
      double total = Timing.millis(caller);
      double beside = way.switches() ? Timing.millis(() -> SwitchedServer.awaitGone(oldPid)) : 0;
      boolean replaced = way.endsFirst() || way.switches();
      long newPid = server.activePid();
      WorkersOverview overview = server.workers();
      double initialisation = replaced ? overview.lastPauseNanos() / MEGA : 0;
      double transmission = caller.timings().stallNanos() / MEGA;
      server.awaitBuilt(workers, 2);
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
    try (HandleImports imports = new HandleImports(groups, pageBytes)) {
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
  private static double clean(Way way, SwitchedServer server, BenchCase before, long oldPid)
      throws Exception {
    if (way.endsFirst()) {
      return Timing.millis(() -> SwitchedServer.kill(oldPid));
    }
    return way.switches() ? 0 : Timing.millis(() -> server.evict(before));
  }

  private void stopAndStart(Path work, Path repository, BenchCase next, Results results)
      throws Exception {
    List<String> settings =
        List.of(
            "repository.path=" + repository,
            "repository.cache=" + work.resolve("cache"),
            "device.kind=" + device,
            "device.memory=1GiB",
            "server.http-port=0");
    ChildProcess server =
        ChildProcess.start(work.resolve("server.log"), ServerMain.class, settings);
    try {
      for (int round = 0; round < options.rounds(); round++) {
        Process old = server.process();
        double cleaning = Timing.millis(() -> old.destroyForcibly().waitFor());
        server.close();
        long begin = System.nanoTime();
        server = ChildProcess.start(work.resolve("server.log"), ServerMain.class, settings);
        double initialisation = (System.nanoTime() - begin) / MEGA;
        try (InferenceClient client = new InferenceClient(server.url())) {
          double first = Timing.millis(() -> client.infer(next.model(), next.inputs()));
          Samples warm = new Samples();
          for (int i = 0; i < WARM_RUNS; i++) {
            warm.add(Timing.millis(() -> client.infer(next.model(), next.inputs())));
          }
          double rest = first - warm.median();
          results.add(STOP_AND_START, WorkersColumns.OVERHEAD, cleaning + initialisation + rest);
          results.add(STOP_AND_START, WorkersColumns.CLEANING, cleaning);
          results.add(STOP_AND_START, WorkersColumns.INITIALISATION, initialisation);
          results.add(STOP_AND_START, WorkersColumns.TRANSMISSION, rest);
          results.add(STOP_AND_START, WorkersColumns.ISOLATED, 1);
          results.add(STOP_AND_START, WorkersColumns.WARM, warm.median());
        }
      }
    } finally {
      server.close();
    }
  }
}
