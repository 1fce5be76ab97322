package io.pipelane.loadgen.zoo;

/**
 * A uniform distribution.
 *
 * @param low the least value
 * @param high above all values
 * @param group of how many consecutive values the mean is taken off again, 0 for none
 */
record Range(float low, float high, int group) {
  /** The variance of a rectified normal variable of variance 1. */
  private static final double RECTIFIED_VARIANCE = (1 - 1 / Math.PI) / 2;

  /**
   * Weights of sums over rectified inputs. They keep the variance from layer to layer, as in He et
   * al., Delving Deep into Rectifiers, section 2.2. Each sum's weights are centred: the positive
   * mean that rectified inputs have in common cancels out, which would otherwise make the outputs
   * of a deep network alike whatever its input.
   *
   * @param inputs how many are summed up
   */
  static Range afterRectifier(int inputs) {
    double bound = Math.sqrt(3 / (inputs * RECTIFIED_VARIANCE));
    return new Range((float) -bound, (float) bound, inputs);
  }

  /** Weights of sums over any inputs, which keep the variance. */
  static Range linear(int inputs) {
    return around(0, Math.sqrt(3.0 / inputs));
  }

  static Range around(double centre, double halfWidth) {
    return new Range((float) (centre - halfWidth), (float) (centre + halfWidth), 0);
  }
}
