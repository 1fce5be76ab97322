package io.pipelane.bench.generator;

import ai.onnxruntime.OrtEnvironment;
import io.pipelane.bench.noop.NettyMain;
import io.pipelane.bench.process.ChildProcess;
import io.pipelane.bench.report.BenchOptions;
import io.pipelane.bench.report.Results;
import io.pipelane.loadgen.experiment.LoadRunner;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.settings.ArrivalPattern;
import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ModelChoice;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.PreparedRequest;
import io.pipelane.loadgen.settings.ResponseCheck;
import io.pipelane.loadgen.settings.Window;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code bench generator}: what generating load costs, beside wrk where it is installed. */
@Command(
    name = "generator",
    description =
        "Processor time of the load generator itself, at small requests against a bare "
            + "Netty server, beside that of wrk where it is on the PATH.",
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class GeneratorCommand implements Callable<Integer> {
  private static final String BODY = "x".repeat(64);
  private static final String ANSWER =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
  private static final int CONNECTIONS = 16;
  private static final int PAUSE_MILLIS = 1;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private BenchOptions options = new BenchOptions();

  @Option(
      names = "--rate",
      paramLabel = "R",
      defaultValue = "20000",
      description = "Requests per second of the open loop (${DEFAULT-VALUE}).")
  private int rate = 20_000;

  @Override
  public Integer call() throws Exception {
    Path work = options.work();
    Path answer = Files.writeString(work.resolve("small-answer.bin"), ANSWER);
    Results results =
        new Results(GeneratorColumns.TITLE, GeneratorColumns.ALL, GeneratorColumns.NOTES);
    try (ChildProcess netty =
        ChildProcess.start(
            work.resolve("netty.log"), NettyMain.class, List.of(answer.toString(), "1"))) {
      Wrk wrk = new Wrk(work, netty.url(), BODY);
      boolean hasWrk = Wrk.isInstalled();
      run(netty.url(), new LoadMode.Closed(CONNECTIONS), options.warmup());
      run(netty.url(), open(), options.warmup());
      for (int round = 0; round < options.rounds(); round++) {
        add(results, "open loop", run(netty.url(), open(), options.length()));
        if (hasWrk) {
          int connections = Math.max(1, rate * PAUSE_MILLIS / 1_000);
          add(results, "wrk, paced", wrk.run(connections, PAUSE_MILLIS, options.length()));
        }
        LoadMode closed = new LoadMode.Closed(CONNECTIONS);
        add(results, "closed loop", run(netty.url(), closed, options.length()));
        if (hasWrk) {
          add(results, "wrk", wrk.run(CONNECTIONS, 0, options.length()));
        }
      }
    }
    options.publish(spec, results, OrtEnvironment.getEnvironment().getVersion());
    return 0;
  }

  private LoadMode open() {
    return new LoadMode.Open(new ArrivalPattern.Constant(rate), 4 * CONNECTIONS);
  }

  private static LoadReport run(URI url, LoadMode mode, Duration length)
      throws InterruptedException {
    return LoadRunner.run(
        new LoadTest(
            Endpoint.of(url),
            List.of(
                ModelRequests.infer(
                    "small",
                    List.of(PreparedRequest.json(BODY.getBytes(StandardCharsets.US_ASCII))))),
            new ModelChoice.Uniform(),
            mode,
            Window.lasting(Duration.ZERO, length),
            1,
            ResponseCheck.NONE));
  }

  private void add(Results results, String form, LoadReport report) {
    double micros = report.cpu().process().toNanos() / 1e3 / report.sends().sent();
    add(results, form, report.total().perSecond(), micros);
  }

  private void add(Results results, String form, Wrk.Measured measured) {
    add(results, form, measured.perSecond(), measured.cpuMicros());
  }

  private void add(Results results, String form, double perSecond, double micros) {
    results.add(form, GeneratorColumns.RATE, perSecond);
    results.add(form, GeneratorColumns.MICROS, micros);
    results.add(form, GeneratorColumns.CORES, micros * rate / 1e6);
  }
}
