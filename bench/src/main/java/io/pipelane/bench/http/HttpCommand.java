package io.pipelane.bench.http;

import ai.onnxruntime.OrtEnvironment;
import io.pipelane.bench.local.PlainModel;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.bench.process.ChildProcess;
import io.pipelane.bench.process.ServerLoad;
import io.pipelane.bench.process.ServerLoad.Measured;
import io.pipelane.bench.process.ServerMain;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Results;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench http}: MiniLM over HTTP beside ONNX Runtime in the process. */
@Command(
    name = "http",
    description =
        "Throughput and tail latency of MiniLM with 16 tokens, served over HTTP by a "
            + "process of its own, beside ONNX Runtime in this process with as many callers as "
            + "cores.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class HttpCommand implements Callable<Integer> {
  private static final int CORES = Runtime.getRuntime().availableProcessors();

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();

  @Option(
      names = "--connections",
      paramLabel = "N,...",
      split = ",",
      description = "Connections to send over (8,32).")
  private List<Integer> connections = new ArrayList<>(List.of(8, 32));

  @Option(names = "--batching", description = "Let the server run requests together that wait.")
  private boolean batching;

  @Override
  public Integer call() throws Exception {
    Path work = options.work();
    Path repository = work.resolve("sentence");
    BenchCase benchCase = BenchCase.all(repository).getFirst();
    BenchCase.write(repository, List.of(benchCase));
    Files.writeString(
        repository.resolve(benchCase.model()).resolve("pipelane.yaml"),
        "batching:\n  mode: %s\n".formatted(batching ? "auto" : "never"));
    Results results = new Results(HttpColumns.TITLE, HttpColumns.ALL, HttpColumns.NOTES);
    List<String> settings =
        List.of(
            "repository.path=" + repository,
            "repository.cache=" + work.resolve("cache"),
            "server.http-port=0");
    try (PlainModel plain = new PlainModel(benchCase.file(), benchCase.inputs());
        ChildProcess server =
            ChildProcess.start(work.resolve("server.log"), ServerMain.class, settings)) {
      List<Run> callers = IntStream.range(0, CORES).mapToObj(_ -> plain.run()).toList();
      ServerLoad load = ServerLoad.binary(server, benchCase.model(), benchCase.inputs());
      load.run(connections.getLast(), options.warmup());
      Timing.perSecond(callers, options.warmup());
      for (int round = 0; round < options.rounds(); round++) {
        for (int count : connections) {
          double local = Timing.perSecond(callers, options.length());
          add(results, count, local, load.run(count, options.length()));
        }
      }
    }
    options.publish(spec, results, OrtEnvironment.getEnvironment().getVersion());
    return 0;
  }

  private static void add(Results results, int connections, double local, Measured measured) {
    String name = connections + " connections";
    double seconds = measured.seconds();
    double client = measured.clientCpuSeconds() / seconds;
    double corrected = measured.perSecondWithoutClient(CORES);
    results.add(name, HttpColumns.LOCAL_RATE, local);
    results.add(name, HttpColumns.RATE, measured.perSecond());
    results.add(name, HttpColumns.P50_MILLIS, measured.millis(50));
    results.add(name, HttpColumns.P99_MILLIS, measured.millis(99));
    results.add(name, HttpColumns.P99_TO_P50, measured.millis(99) / measured.millis(50));
    results.add(name, HttpColumns.CLIENT_CORES, client);
    results.add(name, HttpColumns.SERVER_CORES, measured.serverCpuSeconds() / seconds);
    results.add(name, HttpColumns.CORRECTED_RATE, corrected);
    results.add(name, HttpColumns.RELATIVE, corrected / local);
    results.add(name, HttpColumns.ERRORS, (double) measured.report().total().errorCount());
  }
}
