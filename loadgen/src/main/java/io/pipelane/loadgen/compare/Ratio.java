package io.pipelane.loadgen.compare;

import io.pipelane.loadgen.experiment.Estimate;
import java.util.Arrays;

/**
 * The ratio of one server's figure to another's, over rounds that measured both shortly after each
 * other.
 *
 * @param mean geometric mean of the rounds' ratios
 * @param low the 95 % interval's lower end; not a number for a single round
 * @param high its upper end
 * @param smallest of the rounds' ratios
 * @param largest of the rounds' ratios
 */
public record Ratio(double mean, double low, double high, double smallest, double largest) {
  /** Compares figures of the same rounds. */
  public static Ratio of(double[] figures, double[] base) {
    double[] logarithms = new double[figures.length];
    for (int round = 0; round < figures.length; round++) {
      logarithms[round] = Math.log(figures[round] / base[round]);
    }
    Estimate estimate = Estimate.of(logarithms);
    return new Ratio(
        Math.exp(estimate.mean()),
        Math.exp(estimate.mean() - estimate.halfWidth()),
        Math.exp(estimate.mean() + estimate.halfWidth()),
        Math.exp(Arrays.stream(logarithms).min().orElse(Double.NaN)),
        Math.exp(Arrays.stream(logarithms).max().orElse(Double.NaN)));
  }
}
