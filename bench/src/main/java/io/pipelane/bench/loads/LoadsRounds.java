package io.pipelane.bench.loads;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.OpenCaller;
import io.pipelane.bench.local.OpenLoad;
import io.pipelane.bench.local.OpenLoad.Answered;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.residency.Traffic;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.account.TransferCounters;
import io.pipelane.switcher.simulator.TracedUse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The rounds of {@code bench loads}: a resident model is asked in every scene, a round at a time.
 */
final class LoadsRounds {
  private final LocalPipelane server;
  private final OpenCaller caller;
  private final List<String> others;
  private final double perSecond;

  /**
   * Warms the resident model up.
   *
   * @param load of what one lane can do
   */
  LoadsRounds(
      LocalPipelane server, AskedModel resident, List<String> others, double load, Duration warmup)
      throws Exception {
    this.server = server;
    this.others = others;
    caller = server.openCaller(resident);
    perSecond = load * 1e3 / Timing.medianMillis(server.caller(resident, Priority.ONLINE), warmup);
    for (String other : others) {
      server.warmUp(other);
    }
  }

  /** Measures every scene once. */
  void measure(Duration length, long seed, Results results) throws InterruptedException {
    Samples quiet = new Samples();
    List<TracedUse> requests = new ArrayList<>(List.of(new TracedUse(0, 0)));
    requests.addAll(Traffic.ZIPF.requests(1, perSecond, length, seed));
    for (Scene scene : Scene.values()) {
      TransferCounters before = server.transfers();
      long begin = System.nanoTime();
      Answered answered;
      Loading loading = new Loading(server, scene, others);
      try (loading) {
        answered = new OpenLoad(List.of(caller), requests).run();
      }
      double seconds = (System.nanoTime() - begin) / 1e9;
      Samples latencies = samples(answered.latencyMillis());
      quiet = scene == Scene.QUIET ? latencies : quiet;
      add(scene.label(), latencies, quiet, results);
      results.add(scene.label(), LoadsColumns.LOADS, loading.loads() / seconds);
      double moved = (moved(server.transfers()) - moved(before)) / 1e6;
      results.add(scene.label(), LoadsColumns.MOVED, moved / seconds);
      results.add(scene.label(), LoadsColumns.REQUESTS, requests.size());
      results.add(scene.label(), LoadsColumns.FAILED, answered.failed());
    }
  }

  private static Samples samples(double[] values) {
    Samples samples = new Samples();
    Arrays.stream(values).filter(value -> !Double.isNaN(value)).forEach(samples::add);
    return samples;
  }

  private static double moved(TransferCounters counters) {
    return counters.bytesLoaded() + counters.bytesFetchedAhead();
  }

  private static void add(String row, Samples latencies, Samples quiet, Results results) {
    double p99 = latencies.quantile(0.99);
    results.add(row, LoadsColumns.P50, latencies.median());
    results.add(row, LoadsColumns.MEAN, latencies.mean());
    results.add(row, LoadsColumns.P99, p99);
    results.add(row, LoadsColumns.P50_RATIO, latencies.median() / quiet.median());
    results.add(row, LoadsColumns.P99_RATIO, p99 / quiet.quantile(0.99));
  }
}
