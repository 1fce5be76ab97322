package io.pipelane.bench.noop;

import ai.onnxruntime.OrtEnvironment;
import io.pipelane.bench.model.NoopModel;
import io.pipelane.bench.process.ChildProcess;
import io.pipelane.bench.process.RequestForm;
import io.pipelane.bench.process.ServerLoad;
import io.pipelane.bench.process.ServerLoad.Measured;
import io.pipelane.bench.process.ServerMain;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Results;
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

/** {@code bench noop}: a model that does nothing over HTTP, beside Netty alone. */
@Command(
    name = "noop",
    description =
        "Throughput of a model that does nothing, served over HTTP, beside a bare Netty "
            + "server that answers the same bytes; both in processes of their own.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class NoopCommand implements Callable<Integer> {
  private static final int EVENT_LOOPS =
      Math.max(1, Runtime.getRuntime().availableProcessors() / 2);
  private static final int WARM_CONNECTIONS = 32;

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
    Results results = new Results(NoopColumns.TITLE, NoopColumns.ALL, NoopColumns.NOTES);
    try (ChildProcess pipelane = startPipelane(work);
        ChildProcess netty = startNetty(work, pipelane)) {
      ServerLoad pipelaneLoad = ServerLoad.binary(pipelane, NoopModel.NAME, NoopModel.inputs());
      ServerLoad nettyLoad = ServerLoad.binary(netty, NoopModel.NAME, NoopModel.inputs());
      pipelaneLoad.run(WARM_CONNECTIONS, options.warmup());
      nettyLoad.run(WARM_CONNECTIONS, options.warmup());
      for (int round = 0; round < options.rounds(); round++) {
        for (int count : connections) {
          Measured ceiling = nettyLoad.run(count, options.length());
          add(results, count, ceiling, pipelaneLoad.run(count, options.length()));
        }
      }
    }
    options.publish(spec, results, OrtEnvironment.getEnvironment().getVersion());
    return 0;
  }

  private static ChildProcess startPipelane(Path work) throws IOException, InterruptedException {
    Path repository = work.resolve("nothing");
    NoopModel.write(repository);
    return ChildProcess.start(
        work.resolve("server.log"),
        ServerMain.class,
        List.of(
            "repository.path=" + repository,
            "repository.cache=" + work.resolve("cache"),
            "server.event-loops=" + EVENT_LOOPS,
            "server.http-port=0"));
  }

  /** A server that answers the bytes that Pipelane answers. */
  private static ChildProcess startNetty(Path work, ChildProcess pipelane)
      throws IOException, InterruptedException {
    Path answer = work.resolve("answer.bin");
    Files.write(
        answer,
        RawAnswer.ask(
            pipelane.url(),
            NoopModel.NAME,
            RequestForm.BINARY.request(NoopModel.NAME, NoopModel.inputs())));
    return ChildProcess.start(
        work.resolve("netty.log"),
        NettyMain.class,
        List.of(answer.toString(), Integer.toString(EVENT_LOOPS)));
  }

  private static void add(Results results, int connections, Measured netty, Measured pipelane) {
    String name = connections == 1 ? "1 connection" : connections + " connections";
    results.add(name, NoopColumns.NETTY_RATE, netty.perSecond());
    results.add(name, NoopColumns.RATE, pipelane.perSecond());
    results.add(name, NoopColumns.RELATIVE, pipelane.perSecond() / netty.perSecond());
    results.add(name, NoopColumns.NETTY_CPU, netty.serverCpuMicros());
    results.add(name, NoopColumns.CPU, pipelane.serverCpuMicros());
    results.add(name, NoopColumns.P50_MILLIS, pipelane.millis(50));
    results.add(name, NoopColumns.P99_MILLIS, pipelane.millis(99));
    results.add(name, NoopColumns.ERRORS, (double) pipelane.report().total().errorCount());
  }
}
