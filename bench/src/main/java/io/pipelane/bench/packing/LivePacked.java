package io.pipelane.bench.packing;

import io.pipelane.bench.live.LiveServers;
import io.pipelane.bench.local.Arrivals;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.OpenCaller;
import io.pipelane.bench.local.OpenLoad;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.report.Rows;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.SchedulingConfig.Policy;
import io.pipelane.switcher.simulator.TracedUse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;

/** The copies of models on one device: asked one by one, then all of them. */
final class LivePacked {
  private static final double NANOS_PER_SECOND = 1e9;
  private static final double NANOS_PER_MILLI = 1e6;
  private static final double BYTES_PER_GIB = 1L << 30;

  private static final int WARMING_RUNS = 5;
  private static final int ALONE_RUNS = 15;
  private static final double LONGEST_PAUSE_SECONDS = 0.05;

  private final String row;
  private final LiveServers servers;
  private final int copies;
  private final double interval;
  private final List<Model> written = new ArrayList<>();

  private record Model(AskedModel asked, List<String> names) {}

  /**
   * Copies that nobody has asked yet.
   *
   * @param interval seconds between the requests of each copy, on the average
   */
  LivePacked(String row, LiveServers servers, List<AskedModel> asked, int copies, double interval)
      throws IOException {
    this.row = row;
    this.servers = servers;
    this.copies = copies;
    this.interval = interval;
    for (AskedModel each : asked) {
      written.add(new Model(each, servers.add(each, copies)));
    }
  }

  /**
   * Measures those that can be asked, so many seconds in all, in rounds of seeds of their own; each
   * other model has a row that says why it is left out.
   */
  void tell(int rounds, double seconds, long seed, Rows rows, Results results) throws Exception {
    try (LocalPipelane server = servers.startWithReady(Policy.SRTF, 1)) {
      List<Model> models = asked(server, rows);
      if (models.isEmpty()) {
        throw new IllegalStateException("no model can be asked");
      }
      for (int round = 0; round < rounds; round++) {
        long seedOfRound = seed + round;
        rows.measure(
            "%s, round %d of %d".formatted(row, round + 1, rounds),
            () -> tellRound(server, models, seconds / rounds, seedOfRound, rows, results));
      }
    }
  }

  /** The models of which every copy was imported and has answered. */
  private List<Model> asked(LocalPipelane server, Rows rows) {
    Map<String, String> refusals = server.refusals();
    List<Model> asked = new ArrayList<>();
    for (Model model : written) {
      try {
        for (String name : model.names) {
          if (refusals.containsKey(name)) {
            throw new StatusException(Status.UNAVAILABLE, refusals.get(name));
          }
          server.caller(name, server.inputs(model.asked, name)).run();
        }
        asked.add(model);
      } catch (StatusException e) {
        rows.missing("%s, without %s: %s".formatted(row, model.asked.name(), e.getMessage()));
      }
    }
    return asked;
  }

  private void tellRound(
      LocalPipelane server,
      List<Model> models,
      double seconds,
      long seed,
      Rows rows,
      Results results)
      throws Exception {
    double[] alone = alone(server, models);
    List<TracedUse> requests = requests(models.size() * copies, seconds, seed);
    OpenLoad load = new OpenLoad(callers(server, models), requests);
    OpenLoad.Answered together = load.run();
    load.failure().ifPresent(e -> rows.missing(row + ", a request failed: " + e.getMessage()));
    Samples added = new Samples();
    Samples own = new Samples();
    Samples stalls = new Samples();
    for (int i = 0; i < requests.size(); i++) {
      double expected = alone[requests.get(i).model() / copies];
      if (!Double.isNaN(together.latencyMillis()[i])) {
        own.add(expected);
        added.add(together.latencyMillis()[i] - expected);
        stalls.add(together.stallMillis()[i]);
      }
    }
    results.add(row, PackingColumns.MODELS, models.size() * copies);
    results.add(row, PackingColumns.RATE, requests.size() / seconds);
    results.add(row, PackingColumns.ALONE, own.mean());
    results.add(row, PackingColumns.TOGETHER, own.mean() + added.mean());
    results.add(row, PackingColumns.ADDED, added.mean());
    results.add(row, PackingColumns.ADDED_50, added.median());
    results.add(row, PackingColumns.ADDED_99, added.quantile(0.99));
    results.add(row, PackingColumns.STALL, stalls.mean());
    results.add(row, PackingColumns.MEMORY, server.takenBytes() / BYTES_PER_GIB);
    results.add(row, PackingColumns.DEVICES, 1);
    results.add(row, PackingColumns.ONE_EACH, models.size() * copies);
    results.add(row, PackingColumns.FAILED, together.failed());
  }

  /**
   * By model, the mean of its runs while nothing else runs, as far apart as requests are together.
   */
  private double[] alone(LocalPipelane server, List<Model> models) throws Exception {
    double pause = Math.min(LONGEST_PAUSE_SECONDS, interval / (models.size() * copies));
    double[] means = new double[models.size()];
    for (int i = 0; i < means.length; i++) {
      Model model = models.get(i);
      for (String name : model.names) {
        Run run = server.caller(name, server.inputs(model.asked, name));
        for (int warming = 0; warming < WARMING_RUNS; warming++) {
          run.run();
        }
      }
      String first = model.names.getFirst();
      Run run = server.caller(first, server.inputs(model.asked, first));
      run.run();
      Samples samples = new Samples();
      for (int asked = 0; asked < ALONE_RUNS; asked++) {
        LockSupport.parkNanos((long) (pause * NANOS_PER_SECOND));
        long begin = System.nanoTime();
        run.run();
        samples.add((System.nanoTime() - begin) / NANOS_PER_MILLI);
      }
      means[i] = samples.mean();
    }
    return means;
  }

  /** Those of the first model's copies, then those of the second's, and so on. */
  private static List<OpenCaller> callers(LocalPipelane server, List<Model> models) {
    List<OpenCaller> callers = new ArrayList<>();
    for (Model model : models) {
      model.names.forEach(name -> callers.add(server.openCaller(model.asked, name)));
    }
    return callers;
  }

  private List<TracedUse> requests(int count, double seconds, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    long length = (long) (seconds * NANOS_PER_SECOND);
    return Arrivals.poisson(count / interval, length, random.nextLong()).stream()
        .map(nanos -> new TracedUse(nanos, random.nextInt(count)))
        .toList();
  }
}
