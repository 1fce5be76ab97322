package io.pipelane.bench.packing;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.OpenCaller;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.bench.model.ModelCopies;
import io.pipelane.bench.model.NoopModel;
import io.pipelane.bench.report.Results;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Copies of the demo's small models on the CPU device: asked one by one, then all of them. */
final class LivePacked {
  private static final String ROW = "live, CPU";
  private static final double NANOS_PER_SECOND = 1e9;
  private static final double NANOS_PER_MILLI = 1e6;

  /** Each with its own times alone, as the machine has its moods; medians count. */
  private static final int ROUNDS = 5;

  private static final int WARMING_RUNS = 5;
  private static final int ALONE_RUNS = 15;
  private static final long ALONE_PAUSE_NANOS = 20_000_000;

  /**
   * A run of the largest pictures takes longer than all others together; the other does nothing.
   */
  private static final Set<String> LEFT_OUT = Set.of("ppocr-v4-det", NoopModel.NAME);

  private final List<Model> models = new ArrayList<>();
  private final Path repository;

  private record Model(BenchCase benchCase, List<String> names) {}

  private record Sent(int model, long nanos) {}

  private LivePacked(Path repository) {
    this.repository = repository;
  }

  /** Writes so many copies of each model. */
  static LivePacked write(Path work, int copies) throws IOException {
    Path demo = work.resolve("packing-demo");
    LivePacked packed = new LivePacked(work.resolve("packing"));
    List<BenchCase> cases =
        BenchCase.all(demo).stream()
            .filter(each -> !each.name().endsWith("128 tokens"))
            .filter(each -> !LEFT_OUT.contains(each.model()))
            .toList();
    BenchCase.write(demo, cases);
    for (BenchCase each : cases) {
      packed.models.add(
          new Model(each, ModelCopies.write(packed.repository, each.file(), each.model(), copies)));
    }
    return packed;
  }

  /**
   * Measures them.
   *
   * @param interval seconds between the requests of each copy, on the average
   * @return ONNX Runtime's version
   */
  String tell(Path work, double interval, double seconds, long seed, Results results)
      throws Exception {
    Map<String, String> configuration = Map.of("device.lanes", "1", "scheduling.policy", "srtf");
    try (LocalPipelane server = LocalPipelane.start(repository, work, configuration)) {
      for (int round = 0; round < ROUNDS; round++) {
        tellRound(server, requests(interval, seconds / ROUNDS, seed + round), seconds, results);
      }
      return server.runtimeVersion();
    }
  }

  private void tellRound(LocalPipelane server, List<Sent> requests, double seconds, Results results)
      throws Exception {
    double[] alone = alone(server);
    double[] latencies = together(server, requests);
    Samples added = new Samples();
    Samples own = new Samples();
    for (int i = 0; i < latencies.length; i++) {
      own.add(alone[requests.get(i).model]);
      added.add(latencies[i] - alone[requests.get(i).model]);
    }
    int count = models.stream().mapToInt(model -> model.names.size()).sum();
    results.add(ROW, PackingColumns.MODELS, count);
    results.add(ROW, PackingColumns.RATE, requests.size() * ROUNDS / seconds);
    results.add(ROW, PackingColumns.ALONE, own.mean());
    results.add(ROW, PackingColumns.TOGETHER, own.mean() + added.mean());
    results.add(ROW, PackingColumns.ADDED, added.mean());
    results.add(ROW, PackingColumns.ADDED_99, added.quantile(0.99));
    results.add(ROW, PackingColumns.DEVICES, 1);
    results.add(ROW, PackingColumns.ONE_EACH, count);
  }

  /** By model, the mean of its runs while nothing else runs; they have pauses between them. */
  private double[] alone(LocalPipelane server) throws Exception {
    double[] means = new double[models.size()];
    for (int i = 0; i < means.length; i++) {
      Model model = models.get(i);
      for (String name : model.names) {
        Run run = server.caller(name, model.benchCase.inputs());
        for (int warming = 0; warming < WARMING_RUNS; warming++) {
          run.run();
        }
      }
      Run run = server.caller(model.names.getFirst(), model.benchCase.inputs());
      Samples samples = new Samples();
      for (int asked = 0; asked < ALONE_RUNS; asked++) {
        LockSupport.parkNanos(ALONE_PAUSE_NANOS);
        long begin = System.nanoTime();
        run.run();
        samples.add((System.nanoTime() - begin) / NANOS_PER_MILLI);
      }
      means[i] = samples.mean();
    }
    return means;
  }

  private List<Sent> requests(double interval, double seconds, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    int copies = models.getFirst().names.size();
    double mean = interval / (models.size() * copies);
    List<Sent> requests = new ArrayList<>();
    double time = random.nextExponential() * mean;
    while (time < seconds) {
      requests.add(new Sent(random.nextInt(models.size()), (long) (time * NANOS_PER_SECOND)));
      time += random.nextExponential() * mean;
    }
    return requests;
  }

  /** Sends requests at their times; by request, milliseconds from then to its answer. */
  private double[] together(LocalPipelane server, List<Sent> requests) throws InterruptedException {
    List<List<OpenCaller>> callers = new ArrayList<>();
    for (Model model : models) {
      callers.add(
          model.names.stream()
              .map(name -> server.openCaller(name, model.benchCase.inputs()))
              .toList());
    }
    double[] millis = new double[requests.size()];
    CountDownLatch ended = new CountDownLatch(millis.length);
    long begin = System.nanoTime();
    for (int i = 0; i < millis.length; i++) {
      Sent request = requests.get(i);
      long due = begin + request.nanos;
      for (long early = due - System.nanoTime(); early > 0; early = due - System.nanoTime()) {
        LockSupport.parkNanos(early);
      }
      int number = i;
      List<OpenCaller> copies = callers.get(request.model);
      copies
          .get(i % copies.size())
          .ask(
              _ -> {
                millis[number] = (System.nanoTime() - due) / NANOS_PER_MILLI;
                ended.countDown();
              });
    }
    ended.await();
    return millis;
  }
}
