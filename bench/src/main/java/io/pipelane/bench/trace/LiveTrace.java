package io.pipelane.bench.trace;

import io.pipelane.bench.live.LiveServers;
import io.pipelane.bench.local.LocalJobs;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.report.Rows;
import io.pipelane.config.section.SchedulingConfig.Policy;
import io.pipelane.demo.protocol.Tensor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;

/**
 * A short trace of jobs, under one policy after another: with log-normal numbers of iterations, of
 * models that take long or short.
 */
final class LiveTrace {
  private static final int WARMING_ITERATIONS = 4;
  private static final Map<String, String> NO_AGEING = Map.of("scheduling.ageing-percent", "0");
  private static final double NANOS_PER_SECOND = 1e9;
  private static final double TAIL = 0.95;

  private final String label;
  private final LiveServers servers;
  private final List<Job> jobs = new ArrayList<>();

  private record Job(String model, AskedModel asked, long arrivalNanos, int iterations) {}

  private LiveTrace(String label, LiveServers servers) {
    this.label = label;
    this.servers = servers;
  }

  /**
   * Draws jobs of some models and writes a copy for each.
   *
   * @param label what rows begin with
   * @param iterations of a job, in the mean
   * @param spread of the logarithm of their numbers, as of a simulated trace's durations
   * @param window seconds within which they come
   */
  static LiveTrace write(
      String label,
      LiveServers servers,
      List<AskedModel> models,
      int count,
      int iterations,
      double spread,
      double window,
      long seed)
      throws IOException {
    SplittableRandom random = new SplittableRandom(seed);
    double[] arrivals = random.doubles(count, 0, window).sorted().toArray();
    double[] lengths =
        DoubleStream.generate(() -> Math.exp(spread * random.nextGaussian()))
            .limit(count)
            .toArray();
    double scale = iterations * count / DoubleStream.of(lengths).sum();
    LiveTrace trace = new LiveTrace(label, servers);
    Map<AskedModel, Integer> copies = new HashMap<>();
    for (int job = 0; job < count; job++) {
      AskedModel asked = models.get(random.nextInt(models.size()));
      int copy = copies.merge(asked, 1, Integer::sum);
      String name = servers.add(asked, copy).getLast();
      long arrivalNanos = Math.round(arrivals[job] * NANOS_PER_SECOND);
      int drawn = Math.toIntExact(Math.max(1, Math.round(scale * lengths[job])));
      trace.jobs.add(new Job(name, asked, arrivalNanos, drawn));
    }
    return trace;
  }

  /**
   * Runs them under each policy, and adds what came of it.
   *
   * @param policies the first is what others are compared with
   * @param packed lanes of pack; the others have one
   */
  void tell(List<Policy> policies, int packed, Rows rows, Results results)
      throws InterruptedException {
    List<LocalJobs.Ended> fifo = new ArrayList<>();
    for (Policy policy : policies) {
      int lanes = policy == Policy.PACK ? packed : 1;
      String row = label + ", " + policy;
      rows.measure(
          row,
          () -> {
            try (LocalPipelane server = servers.start(policy, lanes, NO_AGEING)) {
              List<LocalJobs.Ended> ended = run(server, lanes);
              if (policy == policies.getFirst()) {
                fifo.addAll(ended);
              }
              add(row, ended, fifo, results);
            }
          });
    }
  }

  private List<LocalJobs.Ended> run(LocalPipelane server, int lanes) throws InterruptedException {
    List<LocalJobs.Wanted> wanted = new ArrayList<>();
    Map<AskedModel, List<Tensor>> inputs = new HashMap<>(); // Copies of a model declare the same.
    for (Job job : jobs) {
      List<Tensor> asked =
          inputs.computeIfAbsent(job.asked, model -> server.inputs(model, job.model));
      wanted.add(
          new LocalJobs.Wanted(
              server.openCaller(job.model, asked), job.arrivalNanos, job.iterations));
    }
    LocalJobs.warmUp(wanted, WARMING_ITERATIONS * lanes);
    return LocalJobs.run(wanted);
  }

  private static void add(
      String row, List<LocalJobs.Ended> ended, List<LocalJobs.Ended> fifo, Results results) {
    Samples completions = samples(ended, job -> job.ended() - job.arrived());
    double queueing = samples(ended, job -> job.served() - job.arrived()).mean();
    results.add(row, TraceColumns.LIVE_MAKESPAN, makespan(ended));
    results.add(row, TraceColumns.LIVE_QUEUEING, queueing);
    results.add(row, TraceColumns.LIVE_COMPLETION, completions.mean());
    results.add(row, TraceColumns.LIVE_COMPLETION_95, completions.quantile(TAIL));
    if (fifo.isEmpty()) {
      return;
    }
    results.add(row, TraceColumns.TO_MAKESPAN, makespan(ended) / makespan(fifo));
    results.add(
        row,
        TraceColumns.TO_QUEUEING,
        samples(fifo, job -> job.served() - job.arrived()).mean() / queueing);
    results.add(
        row,
        TraceColumns.TO_COMPLETION,
        samples(fifo, job -> job.ended() - job.arrived()).mean() / completions.mean());
  }

  private static double makespan(List<LocalJobs.Ended> ended) {
    return ended.stream().mapToDouble(LocalJobs.Ended::ended).max().orElse(0)
        - ended.getFirst().arrived();
  }

  private static Samples samples(
      List<LocalJobs.Ended> ended, ToDoubleFunction<LocalJobs.Ended> seconds) {
    Samples samples = new Samples();
    ended.forEach(job -> samples.add(seconds.applyAsDouble(job)));
    return samples;
  }
}
