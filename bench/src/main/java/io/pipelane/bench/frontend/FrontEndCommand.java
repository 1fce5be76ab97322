package io.pipelane.bench.frontend;

import ai.onnxruntime.OrtEnvironment;
import io.pipelane.bench.local.PlainModel;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.bench.model.NoopModel;
import io.pipelane.bench.process.ServerLoad;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Results;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench front-end}: what HTTP and gRPC cost, beside servers that do nothing else. */
@Command(
    name = "front-end",
    description =
        "Throughput, processor time and tail latency over HTTP and gRPC, of a model that "
            + "does nothing and of MiniLM, beside bare servers of Netty and grpc-java and "
            + "beside ONNX Runtime in this process.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class FrontEndCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();

  @Option(
      names = "--connections",
      paramLabel = "N,...",
      split = ",",
      description = "Connections to send over (1,8,32).")
  private List<Integer> connections = new ArrayList<>(List.of(1, 8, 32));

  @Override
  public Integer call() throws Exception {
    Path work = options.work();
    Path repository = work.resolve("front-end");
    BenchCase encoder = BenchCase.all(repository).getFirst();
    BenchCase.write(repository, List.of(encoder));
    NoopModel.write(repository);
    Results results =
        new Results(FrontEndColumns.TITLE, FrontEndColumns.ALL, FrontEndColumns.NOTES);
    try (PlainModel plain = new PlainModel(encoder.file(), encoder.inputs());
        Processes processes = new Processes(work, repository)) {
      List<Contest> contests = new ArrayList<>(processes.noopContests());
      ServerLoad load = ServerLoad.binary(processes.pipelane(), encoder.model(), encoder.inputs());
      contests.add(new EncoderContest(load, plain));
      measure(contests, results);
    }
    options.publish(spec, results, OrtEnvironment.getEnvironment().getVersion());
    return 0;
  }

  private void measure(List<Contest> contests, Results results) throws Exception {
    for (Contest contest : contests) {
      contest.warm(connections.getLast(), options.warmup());
    }
    for (int round = 0; round < options.rounds(); round++) {
      for (Contest contest : contests) {
        for (int count : connections) {
          contest.measure(results, count, options.length());
        }
      }
    }
  }
}
