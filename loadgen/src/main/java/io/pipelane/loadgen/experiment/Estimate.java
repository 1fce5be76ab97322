package io.pipelane.loadgen.experiment;

import java.util.Arrays;

/**
 * The mean of several runs.
 *
 * @param halfWidth of the interval around the mean that holds the true one with 95 % probability,
 *     by Student's t distribution; not a number for a single run
 */
public record Estimate(double mean, double halfWidth, int runs) {
  /** Quantiles of Student's t at 0.975, by degrees of freedom from 1 on. */
  private static final double[] STUDENT = {
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042
  };

  private static final double NORMAL = 1.959964;

  /** Estimates from one value per run. */
  public static Estimate of(double... values) {
    int runs = values.length;
    double mean = Arrays.stream(values).average().orElse(Double.NaN);
    if (runs < 2) {
      return new Estimate(mean, Double.NaN, runs);
    }
    double squares = Arrays.stream(values).map(value -> (value - mean) * (value - mean)).sum();
    double deviation = Math.sqrt(squares / (runs - 1));
    return new Estimate(mean, quantile(runs - 1) * deviation / Math.sqrt(runs), runs);
  }

  /** Beyond the table by the first term of its expansion about the normal distribution's. */
  private static double quantile(int degreesOfFreedom) {
    return degreesOfFreedom <= STUDENT.length
        ? STUDENT[degreesOfFreedom - 1]
        : NORMAL + NORMAL * (NORMAL * NORMAL + 1) / (4 * degreesOfFreedom);
  }
}
