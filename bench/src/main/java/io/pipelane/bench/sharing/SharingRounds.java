package io.pipelane.bench.sharing;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.OfflineLoad;
import io.pipelane.bench.local.OnlineLoad;
import io.pipelane.bench.measure.PairedRounds;
import io.pipelane.bench.measure.PairedRounds.Interval;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.report.Column;
import io.pipelane.bench.report.Results;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The rounds of {@code bench sharing}: one way after another with the same online requests, a round
 * at a time.
 */
final class SharingRounds {
  private static final int WARMING_RUNS = 20;
  private static final Duration ONE_AFTER_THE_OTHER = Duration.ofSeconds(1);
  private static final Duration OFFLINE_ALONE = Duration.ofSeconds(5);

  /** Ratios by column, of latencies in ascending order. */
  private static final Map<Column, ToDoubleFunction<double[]>> RATIOS = ratios();

  private final Pair pair;
  private final OnlineRequests requests;
  private final int callers;
  private final int lanes;
  private final Neighbours neighbours;
  private final Duration warmup;
  private final Results results;
  private final Map<String, PairedRounds> toAlone = new LinkedHashMap<>();
  private final Map<String, Integer> inAll = new LinkedHashMap<>();
  private double onlineMillis;

  private static Map<Column, ToDoubleFunction<double[]>> ratios() {
    Map<Column, ToDoubleFunction<double[]>> ratios = new LinkedHashMap<>();
    ratios.put(SharingColumns.MEAN_RATIO, millis -> Arrays.stream(millis).average().orElseThrow());
    ratios.put(SharingColumns.P50_RATIO, millis -> Samples.quantile(millis, 0.5));
    ratios.put(SharingColumns.P99_RATIO, millis -> Samples.quantile(millis, 0.99));
    ratios.put(SharingColumns.P999_RATIO, millis -> Samples.quantile(millis, 0.999));
    return ratios;
  }

  /** The start of a server that shares its device in a way. */
  interface Servers {
    LocalPipelane start(Scene scene) throws IOException, InterruptedException;

    /** Starts offline work in a server and a process of its own. */
    OfflineRuns startProcess(Scene scene) throws IOException, InterruptedException;
  }

  /**
   * Measures nothing yet.
   *
   * @param requests online
   * @param callers of offline work
   * @param lanes inferences at a time
   * @param neighbours beside offline work
   */
  SharingRounds(
      Pair pair,
      OnlineRequests requests,
      int callers,
      int lanes,
      Neighbours neighbours,
      Duration warmup,
      Results results) {
    this.pair = pair;
    this.requests = requests;
    this.callers = callers;
    this.lanes = lanes;
    this.neighbours = neighbours;
    this.warmup = warmup;
    this.results = results;
  }

  /**
   * Measures every way, online work alone first.
   *
   * @return ONNX Runtime's version
   */
  String measure(List<Scene> scenes, Servers servers, long seed) throws Exception {
    Map<Double, OnlineLoad.Outcome> alone = new HashMap<>();
    String runtimeVersion = "";
    for (Scene scene : scenes) {
      try {
        runtimeVersion = measure(scene, servers, seed, alone);
      } catch (IllegalStateException | StatusException e) {
        if (scene.equals(Scene.ALONE)) {
          throw e;
        }
        results.missing(scene + ": not measured, " + reason(e));
      }
    }
    return runtimeVersion;
  }

  /** What is behind a failure: libraries fail on some shares of a device. */
  private static String reason(Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return String.valueOf(cause.getMessage()).lines().findFirst().orElse("");
  }

  private String measure(
      Scene scene, Servers servers, long seed, Map<Double, OnlineLoad.Outcome> alone)
      throws Exception {
    try (LocalPipelane server = servers.start(scene)) {
      warm(server, servers, scene, seed);
      if (scene.equals(Scene.ALONE)) {
        onlineMillis =
            Timing.medianMillis(server.caller(pair.online(), Priority.ONLINE), ONE_AFTER_THE_OTHER);
      }
      double offlineAlone = scene.equals(Scene.ALONE) ? 0 : offlineAlone(server, servers, scene);
      for (double rate : requests.rates()) {
        measure(server, servers, scene, rate, offlineAlone, seed, alone);
      }
      if (scene.equals(Scene.ALONE)) {
        neighbours.usual();
      }
      return server.runtimeVersion();
    }
  }

  /** Adds what all rounds come to together, once they are measured. */
  void finish(long seed) {
    inAll.forEach((name, count) -> results.add(name, SharingColumns.IN_ALL, count));
    toAlone.forEach(
        (name, rounds) -> {
          List<Interval> intervals = rounds.intervals(List.copyOf(RATIOS.values()), seed);
          int i = 0;
          for (Column column : RATIOS.keySet()) {
            results.interval(name, column, intervals.get(i++));
          }
        });
  }

  /** One after the other, and together: lanes have sessions of their own on some devices. */
  private void warm(LocalPipelane server, Servers servers, Scene scene, long seed)
      throws Exception {
    for (Run run :
        List.of(
            server.caller(pair.online(), Priority.ONLINE),
            server.caller(pair.offline(), scene.way().offline()))) {
      for (int i = 0; i < WARMING_RUNS; i++) {
        run.run();
      }
    }
    OnlineLoad load = online(server, requests.most(warmup, seed));
    if (scene.equals(Scene.ALONE)) {
      OnlineLoad.Outcome _ = load.run();
    } else {
      try (OfflineRuns _ = offline(server, servers, scene)) {
        OnlineLoad.Outcome _ = load.run();
      }
    }
  }

  private OnlineLoad online(LocalPipelane server, List<Long> arrivals) {
    return new OnlineLoad(server.openCaller(pair.online()), arrivals);
  }

  private OfflineRuns offline(LocalPipelane server, Servers servers, Scene scene)
      throws IOException, InterruptedException {
    return scene.way().hasProcesses()
        ? servers.startProcess(scene)
        : OfflineRuns.of(load(server, scene.way().offline()));
  }

  /** Offline work in this process. */
  OfflineLoad load(LocalPipelane server, Priority priority) {
    return new OfflineLoad(callers, i -> server.caller(pair.offline(), priority, i));
  }

  /** Runs a second while nothing else runs. */
  private double offlineAlone(LocalPipelane server, Servers servers, Scene scene)
      throws IOException, InterruptedException {
    Duration longest = requests.longest();
    Duration measured = longest.compareTo(OFFLINE_ALONE) < 0 ? longest : OFFLINE_ALONE;
    try (OfflineRuns load = offline(server, servers, scene)) {
      Thread.sleep(measured.dividedBy(4)); // Until it has come to its pace.
      long before = load.runs();
      long begin = System.nanoTime();
      Thread.sleep(measured);
      double perSecond = (load.runs() - before) / ((System.nanoTime() - begin) / 1e9);
      results.add("offline alone, " + scene, SharingColumns.OFFLINE, perSecond);
      return perSecond;
    }
  }

  private void measure(
      LocalPipelane server,
      Servers servers,
      Scene scene,
      double rate,
      double offlineAlone,
      long seed,
      Map<Double, OnlineLoad.Outcome> alone)
      throws IOException, InterruptedException {
    OnlineLoad online = online(server, requests.times(rate, seed));
    String name = requests.caseName(rate, scene);
    if (scene.equals(Scene.ALONE)) {
      long begin = System.nanoTime();
      OnlineLoad.Outcome outcome = online.run();
      DeviceFigures.add(results, name, server.sharing(), begin);
      alone.put(rate, outcome);
      add(name, outcome, null);
      return;
    }
    try (OfflineRuns offline = offline(server, servers, scene);
        Neighbours.Load _ = neighbours.begin(server.sharing())) {
      Thread.sleep(requests.length(rate).dividedBy(8));
      long before = offline.runs();
      long stops = server.preemptions().runs();
      int evictions = server.sharing().overview().seen().overlimitEntries();
      long begin = System.nanoTime();
      OnlineLoad.Outcome outcome = online.run();
      DeviceFigures.add(results, name, server.sharing().overview().multiprocessors());
      DeviceFigures.add(results, name, server.sharing(), begin);
      double perSecond = (offline.runs() - before) / (outcome.nanos() / 1e9);
      OnlineLoad.Outcome base = Objects.requireNonNull(alone.get(rate), "alone comes first");
      add(name, outcome, base);
      double oversold = perSecond / Math.max(1e-9, offlineAlone);
      double idle = Math.clamp(1 - rate * onlineMillis / 1e3 / lanes, 0.0, 1.0);
      results.add(name, SharingColumns.OFFLINE, perSecond);
      results.add(name, SharingColumns.OVERSOLD, oversold);
      results.add(name, SharingColumns.IDLE, idle);
      double stopped = server.preemptions().runs() - (double) stops;
      results.add(name, SharingColumns.STOPS, stopped);
      results.add(
          name,
          SharingColumns.OVERLIMITS,
          server.sharing().overview().seen().overlimitEntries() - evictions);
      DeviceFigures.add(results, name, server.sharing().overview().evictions());
      if (idle > 0) {
        results.add(name, SharingColumns.OF_IDLE, oversold / idle);
      }
      double noneInFlight = base.shareWithoutRequests();
      results.add(name, SharingColumns.NONE_IN_FLIGHT, noneInFlight);
      if (noneInFlight > 0) {
        results.add(name, SharingColumns.OF_NONE_IN_FLIGHT, oversold / noneInFlight);
      }
    }
  }

  private void add(String name, OnlineLoad.Outcome outcome, OnlineLoad.@Nullable Outcome base) {
    Samples latencies = outcome.latencies();
    results.add(name, SharingColumns.REQUESTS, latencies.count());
    inAll.merge(name, latencies.count(), Integer::sum);
    results.add(name, SharingColumns.MEAN, latencies.mean());
    results.add(name, SharingColumns.P50, latencies.median());
    results.add(name, SharingColumns.P99, latencies.quantile(0.99));
    results.add(name, SharingColumns.P999, latencies.quantile(0.999));
    results.add(name, SharingColumns.FAILED, outcome.failed());
    if (base != null) {
      toAlone.computeIfAbsent(name, _ -> new PairedRounds()).add(base.millis(), outcome.millis());
      Samples alone = base.latencies();
      results.add(name, SharingColumns.MEAN_RATIO, latencies.mean() / alone.mean());
      results.add(name, SharingColumns.P50_RATIO, latencies.median() / alone.median());
      double p99 = latencies.quantile(0.99) / alone.quantile(0.99);
      results.add(name, SharingColumns.P99_RATIO, p99);
      double p999 = latencies.quantile(0.999) / alone.quantile(0.999);
      results.add(name, SharingColumns.P999_RATIO, p999);
    }
  }
}
