package io.pipelane.bench.preempt;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.OfflineLoad;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.report.Results;
import io.pipelane.demo.protocol.InferenceClient;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.net.http.HttpClient;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The rounds of {@code bench preempt}: one server is asked for a model in every scene, a round at a
 * time.
 */
final class PreemptRounds implements AutoCloseable {
  private static final int WARMING_RUNS = 10;

  private final LocalPipelane server;
  private final AskedModel background;
  private final AskedModel asked;
  private final int callers;
  private final SplittableRandom random = new SplittableRandom(1);
  private final HttpClient http = HttpClient.newHttpClient();
  private final InferenceClient client;
  private final List<Tensor> inputs;
  private final double backgroundMillis;

  /**
   * Warms both models up.
   *
   * @param callers of the background
   */
  PreemptRounds(LocalPipelane server, AskedModel background, AskedModel asked, int callers)
      throws Exception {
    this.server = server;
    this.background = background;
    this.asked = asked;
    this.callers = callers;
    client = new InferenceClient(server.url());
    inputs = server.inputs(asked);
    for (int i = 0; i < WARMING_RUNS; i++) {
      client.infer(asked.model(), inputs);
    }
    Samples samples = new Samples();
    for (int i = 0; i < WARMING_RUNS; i++) {
      samples.add(Timing.millis(server.caller(background, Priority.OFFLINE)));
    }
    backgroundMillis = samples.median();
  }

  /** Measures every scene once. */
  void measure(String name, int runs, Results results) throws Exception {
    Samples ready = new Samples();
    for (Scene scene : Scene.values()) {
      Asking asking = scene.isBusy() ? whileBusy(scene, runs) : ask(scene, runs, () -> {});
      ready = scene == Scene.READY ? asking.latencies : ready;
      String row = name + ": " + scene.label();
      add(row, asking.latencies, ready, results);
      ServerWord before = asking.before;
      ServerWord after = asking.after;
      results.add(row, PreemptColumns.QUEUE, after.queueMillisSince(before));
      results.add(row, PreemptColumns.STALL, after.stallMillisSince(before));
      results.add(row, PreemptColumns.WENT_BEFORE, (double) after.preemptingSince(before));
      if (after.preemptingSince(before) > 0) {
        results.add(row, PreemptColumns.FIRST_OF_THOSE, after.firstSegmentMillisSince(before));
      }
      add(row, asking.longest, results);
    }
  }

  /** What the server told of the request that took longest. */
  private static void add(String row, Longest longest, Results results) {
    ServerWord after = longest.after;
    ServerWord before = longest.before;
    results.add(row, PreemptColumns.LONGEST_AT, (double) longest.number);
    results.add(row, PreemptColumns.LONGEST_QUEUE, after.queueMillisSince(before));
    results.add(row, PreemptColumns.LONGEST_STALL, after.stallMillisSince(before));
    if (after.preemptingSince(before) > 0) {
      results.add(row, PreemptColumns.LONGEST_FIRST, after.firstSegmentMillisSince(before));
    }
  }

  /**
   * What a client has seen in one scene, and what the server told before and after.
   *
   * @param longest the request that took longest
   */
  private record Asking(Samples latencies, ServerWord before, ServerWord after, Longest longest) {}

  /**
   * A request that took longer than all before it.
   *
   * @param number in its scene, from 1
   * @param before what the server told before it
   * @param after and after it
   */
  private record Longest(int number, double millis, ServerWord before, ServerWord after) {}

  private ServerWord word() throws Exception {
    return ServerWord.of(http, server.url(), asked.model(), server.preemptions());
  }

  private Asking whileBusy(Scene scene, int runs) throws Exception {
    try (OfflineLoad load =
        new OfflineLoad(callers, i -> server.caller(background, Priority.OFFLINE, i))) {
      return ask(scene, runs, () -> untilAnyMomentOfARun(load));
    }
  }

  private interface Pause {
    void await() throws InterruptedException;
  }

  /**
   * A run of the background has ended, and the next one, which has its weights, is at any moment.
   */
  private void untilAnyMomentOfARun(OfflineLoad load) throws InterruptedException {
    load.awaitRuns(load.runs() + 1);
    Thread.sleep((long) (random.nextDouble() * backgroundMillis));
  }

  private Asking ask(Scene scene, int runs, Pause pause) throws Exception {
    Samples latencies = new Samples();
    client.infer(asked.model(), inputs);
    ServerWord first = word();
    ServerWord before = first;
    Longest longest = new Longest(0, 0, first, first);
    for (int run = 1; run <= runs; run++) {
      pause.await();
      if (scene.isCold()) {
        server.evict(asked.model());
      }
      double millis = Timing.millis(() -> client.infer(asked.model(), inputs));
      latencies.add(millis);
      ServerWord after = word();
      longest = millis > longest.millis ? new Longest(run, millis, before, after) : longest;
      before = after;
    }
    return new Asking(latencies, first, before, longest);
  }

  /** Adds what a client has seen. */
  static void add(String row, Samples latencies, Samples ready, Results results) {
    results.add(row, PreemptColumns.MEAN, latencies.mean());
    results.add(row, PreemptColumns.P50, latencies.median());
    results.add(row, PreemptColumns.MOST, latencies.quantile(1));
    results.add(row, PreemptColumns.OVERHEAD, latencies.mean() - ready.mean());
    results.add(row, PreemptColumns.OVERHEAD_P50, latencies.median() - ready.median());
    results.add(row, PreemptColumns.RUNS, latencies.count());
  }

  @Override
  public void close() {
    client.close();
    http.close();
    server.close();
  }
}
