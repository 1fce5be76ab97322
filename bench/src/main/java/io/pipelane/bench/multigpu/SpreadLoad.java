package io.pipelane.bench.multigpu;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.OpenCaller;
import io.pipelane.bench.local.OpenLoad;
import io.pipelane.bench.local.OpenLoad.Answered;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.residency.Traffic;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.metrics.DeviceState;
import io.pipelane.switcher.simulator.TracedUse;
import io.pipelane.switcher.worker.SessionOverview;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.ToIntFunction;

/** Requests for all models of a server with several devices, and what became of them. */
final class SpreadLoad {
  private final LocalPipelane server;
  private final List<String> models;
  private final List<OpenCaller> callers;
  private final double perSecond;

  /**
   * Asks nothing yet.
   *
   * @param perSecond requests for all models together
   */
  SpreadLoad(LocalPipelane server, List<String> models, List<Tensor> inputs, double perSecond) {
    this.server = server;
    this.models = List.copyOf(models);
    this.callers = models.stream().map(model -> server.openCaller(model, inputs)).toList();
    this.perSecond = perSecond;
  }

  /** As many requests a second for each of those models alone that the first device has. */
  SpreadLoad ofFirstDevice(List<Tensor> inputs) {
    String first = server.devices().states().keySet().iterator().next();
    List<String> there =
        models.stream().filter(model -> first.equals(devices(model).getFirst())).toList();
    return new SpreadLoad(server, there, inputs, perSecond * there.size() / models.size());
  }

  private List<String> devices(String model) {
    return server.devices().devices(new ModelVersion(model, 1));
  }

  private List<TracedUse> requests(Duration length, long seed) {
    return Traffic.ZIPF.requests(callers.size(), perSecond, length, seed);
  }

  void warmUp(Duration length, long seed) throws InterruptedException {
    Answered _ = new OpenLoad(callers, requests(length, ~seed)).run();
  }

  /** Measures a round. */
  void measure(String row, Duration length, long seed, Results results)
      throws InterruptedException {
    List<TracedUse> requests = requests(length, seed);
    double before = movedBytes();
    tell(row, new OpenLoad(callers, requests).run(), before, results);
  }

  /** The same, with the last device lost in the middle. */
  void measureLoss(String row, Duration length, long seed, Results results)
      throws InterruptedException {
    List<TracedUse> requests = requests(length, seed);
    String lost = List.copyOf(server.devices().states().keySet()).getLast();
    double before = movedBytes();
    AtomicReference<List<SessionOverview.Entry>> sessions = new AtomicReference<>(List.of());
    long lossNanos = length.toNanos() / 2;
    long due = System.nanoTime() + lossNanos;
    Thread fate =
        Thread.ofPlatform()
            .name("fate")
            .start(
                () -> {
                  for (long early = due - System.nanoTime();
                      early > 0;
                      early = due - System.nanoTime()) {
                    LockSupport.parkNanos(early);
                  }
                  sessions.set(sessionsBeside(lost));
                  server.devices().lose(lost);
                });
    Answered answered = new OpenLoad(callers, requests).run();
    ThreadEnd.await(fate);
    tell(row, answered, before, results);
    tell(row, sessions.get(), results);
    results.add(row, MultiGpuColumns.REROUTED, server.total(state -> state.member().rerouted()));
    double[] ends = endsAfter(requests, answered, lossNanos / 1e6);
    double pause = 0;
    for (int i = 1; i < ends.length; i++) {
      pause = Math.max(pause, ends[i] - ends[i - 1]);
    }
    results.add(row, MultiGpuColumns.PAUSE, pause);
    results.add(row, MultiGpuColumns.RECOVERY, slowest(requests, answered, lossNanos / 1e6));
  }

  private static void tell(String row, List<SessionOverview.Entry> sessions, Results results) {
    results.add(row, MultiGpuColumns.SESSIONS, sum(sessions, SessionOverview.Entry::sessions));
    results.add(row, MultiGpuColumns.READY, sum(sessions, SessionOverview.Entry::unasked));
    results.add(row, MultiGpuColumns.RAN_AHEAD, sum(sessions, SessionOverview.Entry::ranAhead));
  }

  private static double sum(
      List<SessionOverview.Entry> entries, ToIntFunction<SessionOverview.Entry> figure) {
    return entries.stream().mapToInt(figure).sum();
  }

  private List<SessionOverview.Entry> sessionsBeside(String device) {
    return server.devices().states().entrySet().stream()
        .filter(state -> !state.getKey().equals(device))
        .flatMap(state -> state.getValue().memory().sessions().entries().stream())
        .toList();
  }

  /** When answers came, in milliseconds, from the loss on, which is the first. */
  private static double[] endsAfter(
      List<TracedUse> requests, Answered answered, double lossMillis) {
    double[] ends = new double[requests.size() + 1];
    ends[requests.size()] = lossMillis;
    for (int i = 0; i < requests.size(); i++) {
      ends[i] = requests.get(i).nanos() / 1e6 + answered.latencyMillis()[i];
    }
    return Arrays.stream(ends).filter(end -> end >= lossMillis).sorted().toArray();
  }

  private static double slowest(List<TracedUse> requests, Answered answered, double lossMillis) {
    double slowest = 0;
    for (int i = 0; i < requests.size(); i++) {
      double latency = answered.latencyMillis()[i];
      if (requests.get(i).nanos() / 1e6 + latency >= lossMillis) {
        slowest = Math.max(slowest, latency);
      }
    }
    return slowest;
  }

  private void tell(String row, Answered answered, double movedBefore, Results results) {
    Samples latencies = samples(answered.latencyMillis());
    int requests = answered.latencyMillis().length;
    results.add(row, MultiGpuColumns.P50, latencies.median());
    results.add(row, MultiGpuColumns.MEAN, latencies.mean());
    results.add(row, MultiGpuColumns.P99, latencies.quantile(0.99));
    results.add(row, MultiGpuColumns.STALL, samples(answered.stallMillis()).mean());
    results.add(row, MultiGpuColumns.MOVED, (movedBytes() - movedBefore) / 1e6 / requests);
    results.add(row, MultiGpuColumns.REPLICAS, replicas());
    results.add(row, MultiGpuColumns.REQUESTS, requests);
    results.add(row, MultiGpuColumns.FAILED, answered.failed());
  }

  /** Devices that models have beyond their first, without lost ones. */
  private double replicas() {
    Map<String, DeviceState> states = server.devices().states();
    long devices = 0;
    for (String model : models) {
      devices +=
          devices(model).stream()
              .filter(name -> Objects.requireNonNull(states.get(name)).member().usable())
              .count();
    }
    return Math.max(0, devices - models.size());
  }

  private double movedBytes() {
    return server.total(
        state -> state.transfers().bytesLoaded() + state.transfers().bytesFetchedAhead());
  }

  private static Samples samples(double[] values) {
    Samples samples = new Samples();
    Arrays.stream(values).filter(value -> !Double.isNaN(value)).forEach(samples::add);
    return samples;
  }
}
