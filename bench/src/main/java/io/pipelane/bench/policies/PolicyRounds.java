package io.pipelane.bench.policies;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.local.OpenCaller;
import io.pipelane.bench.local.OpenLoad;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.measure.Timing;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.bench.policies.PolicyMix.Part;
import io.pipelane.bench.report.Results;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.schedule.simulator.QueueSimulator;
import io.pipelane.switcher.simulator.TracedUse;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * The rounds of {@code bench policies}: one way of scheduling after another under the same
 * requests, a round at a time.
 */
final class PolicyRounds {
  private static final Duration ALONE = Duration.ofMillis(500);
  private static final int WARMING_RUNS = 10;

  private final PolicyMix mix;
  private final List<Scheduling> ways;
  private final PoliciesColumns columns;
  private final Duration length;
  private final long seed;
  private final double[] aloneMillis;
  private double perSecondAndLane;
  private String runtimeVersion = "";

  /** The start of a server that schedules so. */
  interface Servers {
    LocalPipelane start(Scheduling way) throws IOException, InterruptedException;
  }

  /** Latencies in figures; in milliseconds. */
  private record Latencies(Samples all, Samples shortOnes, Samples longOnes, int failed) {}

  /**
   * Measures nothing yet.
   *
   * @param ways of which the first is what the others are compared with
   */
  PolicyRounds(
      PolicyMix mix, List<Scheduling> ways, PoliciesColumns columns, Duration length, long seed) {
    this.mix = mix;
    this.ways = List.copyOf(ways);
    this.columns = columns;
    this.length = length;
    this.seed = seed;
    this.aloneMillis = new double[mix.parts().size()];
  }

  /** ONNX Runtime's version, once a round has been measured. */
  String runtimeVersion() {
    return runtimeVersion;
  }

  /**
   * Measures every way.
   *
   * @param load offered, as a multiple of what one lane can do
   */
  void measure(int round, Servers servers, double load, Results results) throws Exception {
    Latencies first = null;
    for (Scheduling way : ways) {
      try (LocalPipelane server = servers.start(way)) {
        runtimeVersion = server.runtimeVersion();
        warm(server);
        double perSecond = load * perSecondAndLane;
        List<TracedUse> arrivals = mix.arrivals(perSecond, length.toNanos(), seed + round);
        Latencies latencies =
            latencies(arrivals, new OpenLoad(callers(server), arrivals).run().latencyMillis());
        first = first == null ? latencies : first;
        add(results, way.name(), latencies, first);
        results.add(way.name(), PoliciesColumns.MADE_WAY, (double) server.preemptions().madeWay());
        results.add(way.name(), PoliciesColumns.ESTIMATE_ERROR, 100 * server.estimateError());
        results.add(way.name(), PoliciesColumns.ANSWER_ERROR, 100 * server.answerEstimateError());
        results.add(way.name(), PoliciesColumns.OFFERED, perSecond);
      }
    }
  }

  /**
   * The same load, once a run takes as long as it takes alone and time is the simulator's.
   *
   * @param lanes of the simulated device
   */
  void simulate(int lanes, double load, Duration simulated, Results results) {
    Latencies first = null;
    double perSecond = load * perSecondAndLane;
    List<TracedUse> arrivals = mix.arrivals(perSecond, simulated.toNanos(), seed);
    List<QueueSimulator.Arrival> requests = arrivals.stream().map(this::simulated).toList();
    for (Scheduling way : ways) {
      SchedulingConfig config = PipelaneConfig.of(way.settings()).scheduling();
      long[] nanos = new QueueSimulator(config, lanes).latencyNanos(requests);
      double[] millis = Arrays.stream(nanos).mapToDouble(latency -> latency / 1e6).toArray();
      Latencies latencies = latencies(arrivals, millis);
      first = first == null ? latencies : first;
      add(results, way.name() + ", simulated", latencies, first);
      results.add(way.name() + ", simulated", PoliciesColumns.OFFERED, perSecond);
    }
  }

  private QueueSimulator.Arrival simulated(TracedUse arrival) {
    String model = mix.parts().get(arrival.model()).benchCase().model();
    long runNanos = Math.round(aloneMillis[arrival.model()] * 1e6);
    return new QueueSimulator.Arrival(arrival.nanos(), new ModelVersion(model, 1), runNanos);
  }

  /** Has the server know how long runs take; the first time, the benchmark as well. */
  private void warm(LocalPipelane server) throws Exception {
    double meanMillis = 0;
    for (int i = 0; i < aloneMillis.length; i++) {
      Part part = mix.parts().get(i);
      BenchCase benchCase = part.benchCase();
      Run run = server.caller(benchCase.model(), benchCase.inputs());
      for (int warming = 0; warming < WARMING_RUNS; warming++) {
        run.run();
      }
      if (perSecondAndLane == 0) {
        aloneMillis[i] = Timing.medianMillis(run, ALONE);
        meanMillis += part.share() * aloneMillis[i];
      }
    }
    perSecondAndLane = perSecondAndLane == 0 ? 1e3 / meanMillis : perSecondAndLane;
  }

  private List<OpenCaller> callers(LocalPipelane server) {
    return mix.parts().stream()
        .map(part -> server.openCaller(part.benchCase().model(), part.benchCase().inputs()))
        .toList();
  }

  private Latencies latencies(List<TracedUse> arrivals, double[] millis) {
    Latencies latencies = new Latencies(new Samples(), new Samples(), new Samples(), 0);
    int failed = 0;
    for (int i = 0; i < millis.length; i++) {
      if (Double.isNaN(millis[i])) {
        failed++;
      } else {
        latencies.all.add(millis[i]);
        boolean isLong = mix.parts().get(arrivals.get(i).model()).isLong();
        (isLong ? latencies.longOnes : latencies.shortOnes).add(millis[i]);
      }
    }
    return new Latencies(latencies.all, latencies.shortOnes, latencies.longOnes, failed);
  }

  private void add(Results results, String way, Latencies latencies, Latencies first) {
    Samples all = latencies.all;
    results.add(way, PoliciesColumns.P50, all.median());
    results.add(way, PoliciesColumns.MEAN, all.mean());
    results.add(way, PoliciesColumns.P99, all.quantile(0.99));
    results.add(way, columns.p50Ratio(), first.all.median() / all.median());
    results.add(way, columns.meanRatio(), first.all.mean() / all.mean());
    results.add(way, columns.p99Ratio(), first.all.quantile(0.99) / all.quantile(0.99));
    results.add(way, PoliciesColumns.SHORT_MEAN, latencies.shortOnes.mean());
    results.add(way, PoliciesColumns.SHORT_P99, latencies.shortOnes.quantile(0.99));
    if (latencies.longOnes.count() > 0) {
      results.add(way, PoliciesColumns.LONG_P50, latencies.longOnes.median());
      results.add(way, PoliciesColumns.LONG_MOST, latencies.longOnes.quantile(1));
    }
    results.add(way, PoliciesColumns.FAILED, latencies.failed);
  }
}
