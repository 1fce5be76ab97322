package io.pipelane.bench.slo;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.OpenCaller;
import io.pipelane.bench.local.OpenLoad;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.bench.model.ModelCopies;
import io.pipelane.bench.residency.Traffic;
import io.pipelane.switcher.simulator.TracedUse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * Variants of a small structure on the CPU device, more than its memory holds, with a time by which
 * every answer is due.
 */
final class LiveVariants implements AutoCloseable {
  /** About a millisecond a run. */
  private static final String CASE = "ppocr-cls";

  private static final int WARMING_RUNS = 3;
  private static final Duration ALONE = Duration.ofMillis(500);
  private static final double MILLIS_PER_SECOND = 1e3;

  private final LocalPipelane server;
  private final List<OpenCaller> callers;
  private final double aloneMillis;

  private LiveVariants(LocalPipelane server, List<OpenCaller> callers, double aloneMillis) {
    this.server = server;
    this.callers = callers;
    this.aloneMillis = aloneMillis;
  }

  /**
   * Starts a server and asks each variant a few times.
   *
   * @param memory for their weights
   * @param policy what runs next, as {@code scheduling.policy} is written
   */
  static LiveVariants start(Path work, int models, String memory, String policy) throws Exception {
    Path demo = work.resolve("slo-demo");
    BenchCase asked =
        BenchCase.all(demo).stream()
            .filter(each -> each.name().startsWith(CASE))
            .findFirst()
            .orElseThrow();
    BenchCase.write(demo, List.of(asked));
    Path repository = work.resolve("slo-" + models);
    List<String> names = ModelCopies.write(repository, asked.file(), "variant", models);
    LocalPipelane server =
        LocalPipelane.start(
            repository,
            work,
            Map.of(
                "device.memory", memory,
                "device.lanes", "1",
                "scheduling.policy", policy,
                "queue.max-requests", "1000000",
                "queue.max-bytes", "64GiB"));
    boolean isReady = false;
    try {
      LiveVariants variants = ready(server, names, asked);
      isReady = true;
      return variants;
    } finally {
      if (!isReady) {
        server.close();
      }
    }
  }

  private static LiveVariants ready(LocalPipelane server, List<String> names, BenchCase asked)
      throws Exception {
    List<OpenCaller> callers = new ArrayList<>();
    for (String name : names) {
      Run run = server.caller(name, asked.inputs());
      for (int warming = 0; warming < WARMING_RUNS; warming++) {
        run.run();
      }
      callers.add(server.openCaller(name, asked.inputs()));
    }
    Run last = server.caller(names.getLast(), asked.inputs());
    return new LiveVariants(server, callers, Timing.medianMillis(last, ALONE));
  }

  /** ONNX Runtime's version. */
  String runtimeVersion() {
    return server.runtimeVersion();
  }

  /**
   * Offers a load.
   *
   * @param load of what one warm run after another gives
   * @param due milliseconds from a request's coming to the time by which it is to be answered
   */
  Answers offer(double load, Duration length, double due, long seed) throws InterruptedException {
    double perSecond = load * MILLIS_PER_SECOND / aloneMillis;
    List<TracedUse> requests = Traffic.AZURE.requests(callers.size(), perSecond, length, seed);
    OpenLoad offered = new OpenLoad(callers, requests);
    double[] millis = offered.run(OptionalLong.of(Math.round(due * 1e6))).latencyMillis();
    offered.requireOnlyRefusals();
    double first = length.toNanos() / 4.0;
    int counted = (int) requests.stream().filter(use -> use.nanos() >= first).count();
    return new Answers(
        Arrays.copyOfRange(millis, millis.length - counted, millis.length),
        (length.toNanos() - first) / 1e9);
  }

  @Override
  public void close() {
    server.close();
  }
}
