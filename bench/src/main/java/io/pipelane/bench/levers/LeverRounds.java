package io.pipelane.bench.levers;

import io.pipelane.bench.loads.Loading;
import io.pipelane.bench.loads.Scene;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.OpenCaller;
import io.pipelane.bench.local.OpenLoad;
import io.pipelane.bench.local.OpenLoad.Answered;
import io.pipelane.bench.local.PageCache;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.residency.Traffic;
import io.pipelane.switcher.memory.account.TransferCounters;
import io.pipelane.switcher.simulator.TracedUse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The rounds of {@code bench levers}: every form of a server answers the same requests, a round at
 * a time.
 */
final class LeverRounds {
  /** Warming up asks otherwise than what is measured. */
  private static final long WARMING_SEED = 1_000_003;

  private final String label;
  private final Workload workload;
  private final List<Lever> levers;
  private final LeverModels models;
  private final double perSecond;
  private final Duration warmup;
  private final Duration length;
  private final Path cache;

  /** The start of a server with a lever off. */
  interface Servers {
    LocalPipelane start(Lever lever) throws IOException, InterruptedException;
  }

  /**
   * Rounds that have not begun.
   *
   * @param label what the names of rows begin with
   * @param levers {@link Lever#NONE} and those that are turned off
   * @param perSecond requests in the mix
   * @param cache where weights are read from
   */
  LeverRounds(
      String label,
      Workload workload,
      List<Lever> levers,
      LeverModels models,
      double perSecond,
      Duration warmup,
      Duration length,
      Path cache) {
    this.label = label + workload.label();
    this.workload = workload;
    this.levers = levers;
    this.models = models;
    this.cache = cache;
    this.perSecond = workload.perSecond(perSecond);
    this.warmup = warmup;
    this.length = length;
  }

  /** Measures all levers with requests of a seed. */
  void measure(int round, long seed, Servers servers, Results results) throws Exception {
    List<Lever> order = round % 2 == 0 ? levers : levers.reversed();
    Map<Lever, Figures> figures = new EnumMap<>(Lever.class);
    for (Lever lever : order) {
      try (LocalPipelane server = servers.start(lever)) {
        figures.put(lever, measure(server, seed));
      }
    }
    Figures.addRound(results, label, figures);
  }

  private Figures measure(LocalPipelane server, long seed)
      throws IOException, InterruptedException {
    List<OpenCaller> callers = asked(models.callers(server));
    if (workload == Workload.FROM_DISK) {
      dropWeights();
    } else {
      warmUp(callers, seed);
    }
    TransferCounters before = server.transfers();
    List<TracedUse> requests = requests(callers, length, seed);
    Answered answered = answered(server, new OpenLoad(callers, requests));
    TransferCounters after = server.transfers();
    double megabytes = (moved(after) - moved(before)) / 1e6 / requests.size();
    return Figures.of(answered.stallMillis(), answered.latencyMillis(), megabytes);
  }

  private Answered answered(LocalPipelane server, OpenLoad load) throws InterruptedException {
    if (workload != Workload.BESIDE_LOADS) {
      return load.run();
    }
    List<String> loading = models.names().subList(models.count() / 2, models.count());
    try (Loading _ = new Loading(server, Scene.AHEAD, loading)) {
      return load.run();
    }
  }

  private List<OpenCaller> asked(List<OpenCaller> all) {
    return workload == Workload.BESIDE_LOADS ? all.subList(0, all.size() / 2) : all;
  }

  /** Nobody has mapped them yet. */
  private void dropWeights() throws IOException {
    try (Stream<Path> files = Files.walk(cache.toRealPath())) {
      for (Path file : files.filter(file -> file.endsWith("weights.bin")).toList()) {
        PageCache.drop(file);
      }
    }
  }

  /** Has a server answer such requests for a while, and the Java virtual machine compile. */
  void warmUp(LocalPipelane server) throws InterruptedException {
    warmUp(models.callers(server), 0);
  }

  private void warmUp(List<OpenCaller> callers, long seed) throws InterruptedException {
    new OpenLoad(callers, requests(callers, warmup, seed + WARMING_SEED)).run();
  }

  private List<TracedUse> requests(List<OpenCaller> callers, Duration span, long seed) {
    return Traffic.ZIPF.requests(callers.size(), perSecond, span, seed);
  }

  private static long moved(TransferCounters counters) {
    return counters.bytesLoaded() + counters.bytesFetchedAhead();
  }
}
