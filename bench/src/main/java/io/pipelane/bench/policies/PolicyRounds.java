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
import io.pipelane.config.SchedulingConfig;
import io.pipelane.config.SchedulingConfig.Policy;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.schedule.QueueSimulator;
import io.pipelane.switcher.simulator.TracedUse;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Measures one policy after another under the same requests, a round at a time, fifo first. */
final class PolicyRounds {
  private static final Duration ALONE = Duration.ofMillis(500);
  private static final int WARMING_RUNS = 10;

  private final PolicyMix mix;
  private final List<Policy> policies = new ArrayList<>(List.of(Policy.FIFO));
  private final Duration length;
  private final long seed;
  private final double[] aloneMillis;
  private double perSecondAndLane;
  private String runtimeVersion = "";

  /** Starts a server that schedules by a policy. */
  interface Servers {
    LocalPipelane start(Policy policy) throws IOException, InterruptedException;
  }

  /** Latencies in figures; in milliseconds. */
  private record Latencies(Samples all, Samples shortOnes, Samples longOnes, int failed) {}

  PolicyRounds(PolicyMix mix, List<Policy> others, Duration length, long seed) {
    this.mix = mix;
    this.length = length;
    this.seed = seed;
    this.aloneMillis = new double[mix.parts().size()];
    others.stream().filter(policy -> !policies.contains(policy)).forEach(policies::add);
  }

  /** ONNX Runtime's version, once a round has been measured. */
  String runtimeVersion() {
    return runtimeVersion;
  }

  /**
   * Measures every policy.
   *
   * @param load offered, as a multiple of what one lane can do
   */
  void measure(int round, Servers servers, double load, Results results) throws Exception {
    Latencies fifo = null;
    for (Policy policy : policies) {
      try (LocalPipelane server = servers.start(policy)) {
        runtimeVersion = server.runtimeVersion();
        warm(server);
        double perSecond = load * perSecondAndLane;
        List<TracedUse> arrivals = mix.arrivals(perSecond, length.toNanos(), seed + round);
        Latencies latencies =
            latencies(arrivals, new OpenLoad(callers(server), arrivals).run().latencyMillis());
        fifo = fifo == null ? latencies : fifo;
        add(results, policy.toString(), latencies, fifo);
        results.add(
            policy.toString(), PoliciesColumns.ESTIMATE_ERROR, 100 * server.estimateError());
        results.add(policy.toString(), PoliciesColumns.OFFERED, perSecond);
      }
    }
  }

  /**
   * The same load, once a run takes as long as it takes alone and time is the simulator's.
   *
   * @param lanes of the simulated device
   */
  void simulate(int lanes, double load, Duration simulated, Results results) {
    Latencies fifo = null;
    double perSecond = load * perSecondAndLane;
    List<TracedUse> arrivals = mix.arrivals(perSecond, simulated.toNanos(), seed);
    List<QueueSimulator.Arrival> requests = arrivals.stream().map(this::simulated).toList();
    for (Policy policy : policies) {
      SchedulingConfig config =
          PipelaneConfig.of(Map.of("scheduling.policy", policy.toString())).scheduling();
      long[] nanos = new QueueSimulator(config, lanes).latencyNanos(requests);
      double[] millis = Arrays.stream(nanos).mapToDouble(latency -> latency / 1e6).toArray();
      Latencies latencies = latencies(arrivals, millis);
      fifo = fifo == null ? latencies : fifo;
      add(results, policy + ", simulated", latencies, fifo);
      results.add(policy + ", simulated", PoliciesColumns.OFFERED, perSecond);
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

  private static void add(Results results, String policy, Latencies latencies, Latencies fifo) {
    Samples all = latencies.all;
    results.add(policy, PoliciesColumns.P50, all.median());
    results.add(policy, PoliciesColumns.MEAN, all.mean());
    results.add(policy, PoliciesColumns.P99, all.quantile(0.99));
    results.add(policy, PoliciesColumns.FIFO_P50, fifo.all.median() / all.median());
    results.add(policy, PoliciesColumns.FIFO_MEAN, fifo.all.mean() / all.mean());
    results.add(policy, PoliciesColumns.FIFO_P99, fifo.all.quantile(0.99) / all.quantile(0.99));
    results.add(policy, PoliciesColumns.SHORT_P99, latencies.shortOnes.quantile(0.99));
    if (latencies.longOnes.count() > 0) {
      results.add(policy, PoliciesColumns.LONG_P50, latencies.longOnes.median());
      results.add(policy, PoliciesColumns.LONG_MOST, latencies.longOnes.quantile(1));
    }
    results.add(policy, PoliciesColumns.FAILED, latencies.failed);
  }
}
