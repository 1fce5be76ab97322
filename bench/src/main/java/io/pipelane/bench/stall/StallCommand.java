package io.pipelane.bench.stall;

import ai.onnxruntime.OrtEnvironment;
import io.pipelane.bench.bare.StallingMain;
import io.pipelane.bench.process.ChildProcess;
import io.pipelane.bench.report.Console;
import io.pipelane.bench.report.ReportOptions;
import io.pipelane.bench.report.Results;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.ExitStatus;
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
import java.io.IOException;
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

/** {@code bench stall}: the latency reported of a server that stalls, beside what it has to be. */
@Command(
    name = "stall",
    description = {
      "Starts a server that stands still for a while every so often, and compares the "
          + "latency that the load generator reports with what arithmetic says: in an open "
          + "loop with connections to spare, in one with few, and in a closed loop, which "
          + "hides the stalls.",
      "Exit status 0 when both open loops' p99 is within 5 %% of what the server's "
          + "notes of its stalls say, 4 otherwise."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class StallCommand implements Callable<Integer> {
  private static final String ANSWER =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
  private static final double TOLERATED_PERCENT = 5;
  private static final int FEW_CONNECTIONS = 8;
  private static final long LOOK_MILLIS = 5;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--stall",
      paramLabel = "S",
      defaultValue = "1",
      description = "Seconds that the server stands still (${DEFAULT-VALUE}).")
  private double stall = 1;

  @Option(
      names = "--every",
      paramLabel = "S",
      defaultValue = "10",
      description = "Seconds from one stall to the next (${DEFAULT-VALUE}).")
  private double period = 10;

  @Option(
      names = "--periods",
      paramLabel = "N",
      defaultValue = "4",
      description = "Stalls that each measurement covers (${DEFAULT-VALUE}).")
  private int periods = 4;

  @Option(
      names = "--rate",
      paramLabel = "R",
      defaultValue = "200",
      description = "Requests per second of the open loops, at equal intervals (${DEFAULT-VALUE}).")
  private double rate = 200;

  @Option(
      names = "--rounds",
      paramLabel = "N",
      defaultValue = "1",
      description = "Times that each loop has its turn; medians count (${DEFAULT-VALUE}).")
  private int rounds = 1;

  @Mixin private ReportOptions options = new ReportOptions();

  @Override
  public Integer call() throws IOException, InterruptedException {
    requireSensible();
    Path work = options.work();
    Path answer = Files.writeString(work.resolve("small-answer.bin"), ANSWER);
    Path notes = work.resolve("stalls.txt");
    Files.deleteIfExists(notes);
    Results results = new Results(StallColumns.TITLE, StallColumns.ALL, StallColumns.NOTES);
    boolean agrees = true;
    try (ChildProcess server =
        ChildProcess.start(
            work.resolve("stalls.log"),
            StallingMain.class,
            List.of(answer.toString(), "" + nanos(stall), "" + nanos(period), notes.toString()))) {
      int enough = FEW_CONNECTIONS + (int) Math.ceil(1.5 * rate * stall);
      Console.say(spec, "warm-up, " + period + " s");
      run(server, open(enough), 1);
      for (int round = 0; round < rounds; round++) {
        agrees &= measure(server, notes, open(enough), results);
        agrees &= measure(server, notes, open(FEW_CONNECTIONS), results);
        measure(server, notes, new LoadMode.Closed(1), results);
      }
    }
    options.publish(spec, results, OrtEnvironment.getEnvironment().getVersion());
    return (agrees ? ExitStatus.OK : ExitStatus.BOTTLENECK).code();
  }

  private void requireSensible() {
    if (!(period >= 0.1 && period <= 3_600 && stall < period && stall >= 0.06 * period)) {
      throw new IllegalArgumentException(
          "--every must be between 0.1 and 3600, and --stall between 0.06 and 1 times that: "
              + (period + " and " + stall));
    }
    if (periods < 1 || periods > 1_000 || rounds < 1 || rounds > 1_000) {
      throw new IllegalArgumentException(
          "--periods and --rounds must be between 1 and 1000: " + periods + " and " + rounds);
    }
    if (!(rate >= 1 && rate <= 10_000)) {
      throw new IllegalArgumentException("--rate must be between 1 and 10000: " + rate);
    }
  }

  private LoadMode open(int connections) {
    return new LoadMode.Open(new ArrivalPattern.Constant(rate), connections);
  }

  /** Measures from the end of a stall to the end of a later one; answers whether p99 agrees. */
  private boolean measure(ChildProcess server, Path notes, LoadMode mode, Results results)
      throws InterruptedException {
    String name =
        mode instanceof LoadMode.Closed
            ? "closed loop"
            : "open loop, " + mode.connections() + " connections";
    Console.say(spec, name + ", " + periods * period + " s");
    int before = awaitNext(server, notes);
    LoadReport report = run(server, mode, periods);
    report
        .bottlenecks()
        .forEach(reason -> Console.say(spec, "  the generator was the bottleneck: " + reason));
    report.warnings().forEach(warning -> Console.say(spec, "  " + warning));
    List<Long> all = StallingMain.notes(notes);
    Stalls noted =
        new Stalls(all.subList(before, Math.min(all.size(), before + periods)), nanos(period));
    Stalls asked = Stalls.equal(periods, nanos(stall), nanos(period));
    results.add(name, StallColumns.EXPECTED, asked.latency(99) / 1e6);
    results.add(name, StallColumns.NOTED, noted.latency(99) / 1e6);
    results.add(name, StallColumns.RESPONSE, response(report, 99) / 1e6);
    results.add(
        name, StallColumns.SERVICE, report.total().serviceNanos().getValueAtPercentile(99) / 1e6);
    if (mode instanceof LoadMode.Closed) {
      return true;
    }
    results.add(name, StallColumns.P95, percentOff(report, noted, 95));
    results.add(name, StallColumns.P99, percentOff(report, noted, 99));
    results.add(name, StallColumns.P995, percentOff(report, noted, 99.5));
    results.add(name, StallColumns.LAG, report.lagNanos().getValueAtPercentile(99) / 1e6);
    return Math.abs(percentOff(report, noted, 99)) <= TOLERATED_PERCENT;
  }

  /** Waits for the end of a stall; answers how many there have been. */
  private static int awaitNext(ChildProcess server, Path notes) throws InterruptedException {
    int before = StallingMain.notes(notes).size();
    int now = before;
    while (now == before) {
      if (!server.process().isAlive()) {
        throw new StatusException(Status.UNAVAILABLE, "the server has ended: " + server.log());
      }
      Thread.sleep(LOOK_MILLIS);
      now = StallingMain.notes(notes).size();
    }
    return now;
  }

  private LoadReport run(ChildProcess server, LoadMode mode, int periods)
      throws InterruptedException {
    return LoadRunner.run(
        new LoadTest(
            Endpoint.of(server.url()),
            List.of(
                ModelRequests.infer("small", List.of(PreparedRequest.json(new byte[] {'{', '}'})))),
            new ModelChoice.Uniform(),
            mode,
            Window.lasting(Duration.ZERO, Duration.ofNanos(periods * nanos(period))),
            1,
            ResponseCheck.NONE));
  }

  private static double percentOff(LoadReport report, Stalls stalls, double percentile) {
    return 100 * (response(report, percentile) / stalls.latency(percentile) - 1);
  }

  private static double response(LoadReport report, double percentile) {
    return report.total().responseNanos().getValueAtPercentile(percentile);
  }

  private static long nanos(double seconds) {
    return Math.round(seconds * 1e9);
  }
}
