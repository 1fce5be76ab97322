package io.pipelane.cluster.simulator;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Jobs like those of Microsoft's Philly trace (Jeon et al., USENIX ATC 2019), which is not part of
 * this: durations of a heavy tail (log-normal, cut off), more submissions by day than by night.
 */
final class JobTrace {
  /** Of the logarithms of durations. */
  private static final double SPREAD = 1.6;

  /** The longest and the shortest job, so that all end within the day. */
  private static final double MOST_HOURS = 8;

  private static final double LEAST_HOURS = 1.0 / 60;

  /** Jobs come within this time from the beginning, most of them in its middle. */
  private static final double WINDOW_HOURS = 12;

  private static final double DAY_TO_NIGHT = 3;

  private JobTrace() {}

  /**
   * A job of a trace.
   *
   * @param arrival in minutes from the beginning
   * @param alone minutes that it takes on a device of its own, of speed 1
   */
  record Job(int number, OfflineModel model, double arrival, double alone) {}

  /** Draws jobs of some models in the order of their coming; the same seed draws the same. */
  static List<Job> draw(VirtualCluster cluster, List<OfflineModel> models, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    double[] hours = new double[cluster.jobs()];
    double[] arrivals = new double[cluster.jobs()];
    Arrays.setAll(hours, _ -> Math.exp(SPREAD * random.nextGaussian()));
    Arrays.setAll(arrivals, _ -> arrival(random));
    Arrays.sort(arrivals);
    double scale = scale(hours, cluster.meanHours());
    List<Job> jobs = new ArrayList<>();
    for (int i = 0; i < hours.length; i++) {
      OfflineModel model = models.get(random.nextInt(models.size()));
      jobs.add(new Job(i, model, 60 * arrivals[i], 60 * bounded(hours[i] * scale)));
    }
    return jobs;
  }

  private static double arrival(SplittableRandom random) {
    while (true) {
      double hour = WINDOW_HOURS * random.nextDouble();
      double rate = 1 + (DAY_TO_NIGHT - 1) * Math.sin(Math.PI * hour / WINDOW_HOURS);
      if (random.nextDouble() * DAY_TO_NIGHT < rate) {
        return hour;
      }
    }
  }

  /** By what durations are multiplied so that, cut off, they have a mean. */
  private static double scale(double[] hours, double mean) {
    double low = 0;
    double high = 1e4;
    for (int i = 0; i < 60; i++) {
      double middle = (low + high) / 2;
      double reached = Arrays.stream(hours).map(h -> bounded(h * middle)).average().orElse(0);
      if (reached < mean) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return high;
  }

  private static double bounded(double hours) {
    return Math.clamp(hours, LEAST_HOURS, MOST_HOURS);
  }
}
