package io.pipelane.bench.trace;

import io.pipelane.bench.local.LocalJobs;
import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.model.BenchCase;
import io.pipelane.bench.model.ModelCopies;
import io.pipelane.bench.report.Results;
import io.pipelane.config.SchedulingConfig.Policy;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.ToDoubleFunction;

/**
 * A short trace of jobs of the demo's models on the CPU device, under one policy after another: as
 * many iterations each, so that those of a fast model are the short jobs.
 */
final class LiveTrace {
  private static final List<String> CASES =
      List.of(
          "ppocr-cls 48x192",
          "minilm-l6-v2 16 tokens",
          "bge-small-en-q 16 tokens",
          "ppocr-v4-rec 48x320");

  private static final int WARMING_RUNS = 3;
  private static final double NANOS_PER_SECOND = 1e9;
  private static final double TAIL = 0.95;

  private final Path work;
  private final Path repository;
  private final List<Job> jobs = new ArrayList<>();

  private record Job(String model, BenchCase asked, long arrivalNanos, int iterations) {}

  private LiveTrace(Path work) {
    this.work = work;
    this.repository = work.resolve("trace");
  }

  /**
   * Draws jobs and writes their models, each with one of its own.
   *
   * @param window seconds within which they come
   */
  static LiveTrace write(Path work, int count, int iterations, double window, long seed)
      throws IOException {
    Path demo = work.resolve("trace-demo");
    List<BenchCase> cases =
        BenchCase.all(demo).stream().filter(each -> CASES.contains(each.name())).toList();
    BenchCase.write(demo, cases);
    SplittableRandom random = new SplittableRandom(seed);
    double[] arrivals = random.doubles(count, 0, window).sorted().toArray();
    LiveTrace trace = new LiveTrace(work);
    Map<BenchCase, Integer> copies = new HashMap<>();
    for (double arrival : arrivals) {
      BenchCase asked = cases.get(random.nextInt(cases.size()));
      int copy = copies.merge(asked, 1, Integer::sum);
      List<String> names = ModelCopies.write(trace.repository, asked.file(), asked.model(), copy);
      trace.jobs.add(
          new Job(names.getLast(), asked, Math.round(arrival * NANOS_PER_SECOND), iterations));
    }
    return trace;
  }

  /**
   * Runs them under each policy, and adds what came of it.
   *
   * @param policies the first is what others are compared with
   * @param packed lanes of pack; the others have one
   * @return ONNX Runtime's version
   */
  String tell(List<Policy> policies, int packed, Results results) throws Exception {
    List<LocalJobs.Ended> fifo = List.of();
    String runtime = "";
    for (Policy policy : policies) {
      int lanes = policy == Policy.PACK ? packed : 1;
      try (LocalPipelane server = LocalPipelane.start(repository, work, settings(policy, lanes))) {
        runtime = server.runtimeVersion();
        List<LocalJobs.Ended> ended = run(server);
        fifo = fifo.isEmpty() ? ended : fifo;
        add("live, " + policy, ended, fifo, results);
      }
    }
    return runtime;
  }

  private static Map<String, String> settings(Policy policy, int lanes) {
    return Map.of(
        "scheduling.policy", policy.toString(),
        "scheduling.ageing-percent", "0",
        "device.lanes", Integer.toString(lanes),
        "device.memory", "4GiB",
        "queue.max-requests", "1000000",
        "queue.max-bytes", "64GiB");
  }

  private List<LocalJobs.Ended> run(LocalPipelane server) throws Exception {
    List<LocalJobs.Wanted> wanted = new ArrayList<>();
    for (Job job : jobs) {
      Run run = server.caller(job.model, job.asked.inputs());
      for (int warming = 0; warming < WARMING_RUNS; warming++) {
        run.run();
      }
      wanted.add(
          new LocalJobs.Wanted(
              server.openCaller(job.model, job.asked.inputs()), job.arrivalNanos, job.iterations));
    }
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
