package io.pipelane.bench.salus;

import io.pipelane.switcher.jobs.SimulatedJob;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Jobs like those of Salus' trace (MLSys 2020, section 5.1), which is not public: workloads of
 * table 2 with durations of a heavy tail, as in the production cluster that Gu et al. describe
 * (Tiresias, NSDI 2019, section 2): most jobs are short, few are very long.
 *
 * @param jobs how many
 * @param meanMinutes of their durations alone; the durations drawn are scaled to that exactly
 * @param spread of the logarithms of their durations (log-normal)
 * @param windowMinutes within which they come, independently of each other
 */
public record JobTrace(int jobs, double meanMinutes, double spread, double windowMinutes) {
  private static final double NANOS_PER_MINUTE = 60e9;

  public JobTrace {
    boolean isFine = jobs > 0 && jobs <= 10_000 && meanMinutes > 0 && spread >= 0;
    if (!isFine || windowMinutes < 0) {
      throw new IllegalArgumentException(
          "a trace of %d jobs (1 to 10000) of %s minutes, spread %s, within %s minutes"
              .formatted(jobs, meanMinutes, spread, windowMinutes));
    }
  }

  /** Draws the jobs, in the order of their coming; the same seed draws the same. */
  public List<SimulatedJob> draw(Workloads workloads, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    double[] durations = new double[jobs];
    double[] arrivals = new double[jobs];
    double sum = 0;
    for (int i = 0; i < jobs; i++) {
      durations[i] = Math.exp(spread * random.nextGaussian());
      arrivals[i] = random.nextDouble() * windowMinutes;
      sum += durations[i];
    }
    Arrays.sort(arrivals);
    List<SimulatedJob> drawn = new ArrayList<>();
    for (int i = 0; i < jobs; i++) {
      Workload workload = workloads.all().get(random.nextInt(workloads.all().size()));
      double nanos = durations[i] / sum * jobs * meanMinutes * NANOS_PER_MINUTE;
      long iterations = Math.max(1, Math.round(nanos / workload.iterationNanos()));
      String id = "%d-%s".formatted(i, workload.name());
      drawn.add(workload.job(id, Math.round(arrivals[i] * NANOS_PER_MINUTE), iterations));
    }
    return drawn;
  }
}
