package io.pipelane.loadgen.zoo.graph;

/**
 * A uniform distribution.
 *
 * @param low the lower bound
 * @param high the upper bound
 * @param group of how many consecutive values the mean is drawn towards 0, 0 for none
 */
public record Range(float low, float high, int group) {
  /**
   * The share of a group's mean that is taken off. With none of it the answers of a deep network
   * are nearly the same whatever its input; with all of it they differ widely, but so do those of
   * two runs that round differently.
   */
  static final double CENTRING = 0.25;

  /** The mean square that centring leaves of a rectified normal variable of variance 1. */
  private static final double RECTIFIED_SQUARE =
      (1 - (1 - (1 - CENTRING) * (1 - CENTRING)) / Math.PI) / 2;

  /**
   * Weights of sums over rectified inputs. They keep the variance from layer to layer: He et al.,
   * Delving Deep into Rectifiers, section 2.2. The weights of one sum are centred in part, so that
   * the positive mean which rectified inputs have in common counts for less.
   *
   * @param inputs how many are summed up
   */
  public static Range afterRectifier(int inputs) {
    double bound = Math.sqrt(3 / (inputs * RECTIFIED_SQUARE));
    return new Range((float) -bound, (float) bound, inputs);
  }

  /** Weights of sums over any inputs, which keep the variance. */
  public static Range linear(int inputs) {
    return around(0, Math.sqrt(3.0 / inputs));
  }

  public static Range around(double centre, double halfWidth) {
    return new Range((float) (centre - halfWidth), (float) (centre + halfWidth), 0);
  }
}
