package io.pipelane.bench.fairness;

import io.pipelane.bench.local.LocalPipelane;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.model.AskedModel;
import io.pipelane.bench.report.Results;
import io.pipelane.demo.protocol.Tensor;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;

/** Callers of equal models in closed loops, which join one model after another. */
final class LiveJobs {
  private static final int WARMING_RUNS = 20;
  private static final double SETTLING = 0.1;
  private static final double NANOS_PER_SECOND = 1e9;
  private static final double MILLIS_PER_SECOND = 1e3;

  private final AskedModel asked;
  private final List<String> models;
  private final List<Integer> callers;
  private final double step;

  /**
   * Jobs that have not begun.
   *
   * @param models copies of the one that is asked, a job each
   * @param callers of each model
   * @param step seconds from a join or leave to the next
   */
  LiveJobs(AskedModel asked, List<String> models, List<Integer> callers, double step) {
    this.asked = asked;
    this.models = List.copyOf(models);
    this.callers = List.copyOf(callers);
    this.step = step;
  }

  /** Has them join and leave, and tells of each time between. */
  Shares run(String row, LocalPipelane server, Results results) throws Exception {
    List<Tensor> inputs = server.inputs(asked, models.getFirst()); // They all declare the same.
    for (String model : models) {
      Run run = server.caller(model, inputs);
      for (int i = 0; i < WARMING_RUNS; i++) {
        run.run();
      }
    }
    List<List<Double>> answers = callAll(callers(server, inputs));
    double alone = answers.getFirst().stream().filter(time -> time < step).count() / step;
    Shares shares = new Shares();
    for (int job = 0; job < models.size(); job++) {
      for (double time : answers.get(job)) {
        shares.served(models.get(job), time - 1 / alone, time, 1 / alone);
      }
    }
    for (int phase = 0; phase < 2 * models.size() - 1; phase++) {
      int present = Math.min(phase + 1, 2 * models.size() - 1 - phase);
      String name = "%s, from %s s".formatted(row, tenths(phase * step));
      new Phase(phase * step, (phase + 1) * step, models.subList(0, present))
          .tell(name, shares, SETTLING * step, results);
      if (phase < models.size()) {
        double joined = phase * step;
        double first =
            answers.get(phase).stream().mapToDouble(time -> time).min().orElse(Double.NaN);
        results.add(name, FairnessColumns.REACTION, (first - joined) * MILLIS_PER_SECOND);
      }
    }
    return shares;
  }

  private static String tenths(double seconds) {
    return new DecimalFormat("0.#", DecimalFormatSymbols.getInstance(Locale.ROOT)).format(seconds);
  }

  /** By job; made before the first joins, as making many large inputs takes longer than a step. */
  private List<List<Run>> callers(LocalPipelane server, List<Tensor> inputs) {
    List<List<Run>> made = new ArrayList<>();
    for (int job = 0; job < models.size(); job++) {
      List<Run> ofJob = new ArrayList<>();
      for (int caller = 0; caller < callers.get(job); caller++) {
        ofJob.add(server.caller(models.get(job), inputs));
      }
      made.add(ofJob);
    }
    return made;
  }

  /** By job, the times of its answers in seconds, those of its callers one after another. */
  private List<List<Double>> callAll(List<List<Run>> runs) throws Exception {
    List<List<Double>> answers = new ArrayList<>();
    try (ExecutorService threads =
        Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory())) {
      List<List<Future<List<Double>>>> loops = new ArrayList<>();
      long begin = System.nanoTime();
      for (int job = 0; job < models.size(); job++) {
        double from = job * step;
        double to = (2 * models.size() - 1 - job) * step;
        List<Future<List<Double>>> ofJob = new ArrayList<>();
        for (Run run : runs.get(job)) {
          ofJob.add(threads.submit(() -> loop(run, begin, from, to)));
        }
        loops.add(ofJob);
      }
      for (List<Future<List<Double>>> ofJob : loops) {
        List<Double> times = new ArrayList<>();
        for (Future<List<Double>> loop : ofJob) {
          times.addAll(loop.get());
        }
        answers.add(times);
      }
    }
    return answers;
  }

  private static List<Double> loop(Run run, long begin, double from, double to) throws Exception {
    List<Double> answers = new ArrayList<>();
    while (seconds(begin) < from) {
      LockSupport.parkNanos((long) ((from - seconds(begin)) * NANOS_PER_SECOND));
    }
    while (seconds(begin) < to) {
      run.run();
      answers.add(seconds(begin));
    }
    return answers;
  }

  private static double seconds(long begin) {
    return (System.nanoTime() - begin) / NANOS_PER_SECOND;
  }
}
