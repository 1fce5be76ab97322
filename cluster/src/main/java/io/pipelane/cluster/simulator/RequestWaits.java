package io.pipelane.cluster.simulator;

import java.util.SplittableRandom;

/**
 * The waiting times of requests that come at random and take equally long, one after another
 * (M/D/1). The mean is exact; the tail is its asymptote C exp(-θ t), where ρ (exp θ - 1) = θ and
 * times count in runs (Tijms, A First Course in Stochastic Models, 2003, §9.4).
 *
 * @param utilization ρ, of the time that in which a request runs
 * @param factor C
 * @param decay θ
 */
record RequestWaits(double utilization, double factor, double decay) {
  private static final int STEPS = 1_000;
  private static final RequestWaits[] TABLE = table();

  private static RequestWaits[] table() {
    RequestWaits[] table = new RequestWaits[STEPS];
    for (int step = 0; step < STEPS; step++) {
      table[step] = solve(Math.max(1e-3, (double) step / STEPS));
    }
    return table;
  }

  /** The waits at a utilisation below 1, to a thousandth. */
  static RequestWaits at(double utilization) {
    return TABLE[(int) Math.clamp(Math.round(utilization * STEPS), 0, STEPS - 1L)];
  }

  private static RequestWaits solve(double utilization) {
    double low = 1e-9;
    double high = 20;
    for (int i = 0; i < 60; i++) {
      double middle = (low + high) / 2;
      if (utilization * Math.expm1(middle) < middle) {
        low = middle;
      } else {
        high = middle;
      }
    }
    double factor = (1 - utilization) / (utilization * Math.exp(high) - 1);
    return new RequestWaits(utilization, factor, high);
  }

  /** The mean wait, in runs. */
  double mean() {
    return utilization / (2 * (1 - utilization));
  }

  /** What part of the requests waits longer than so many runs. */
  double beyond(double runs) {
    return runs < 0 ? 1 : Math.min(utilization, factor * Math.exp(-decay * runs));
  }

  /** What a part of the requests does not wait longer than, in runs. */
  double quantile(double part) {
    double rest = 1 - part;
    return rest >= utilization ? 0 : Math.max(0, Math.log(factor / rest) / decay);
  }

  /** A request's wait, in runs. */
  double draw(SplittableRandom random) {
    return quantile(random.nextDouble());
  }
}
