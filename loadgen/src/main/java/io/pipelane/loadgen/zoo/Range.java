package io.pipelane.loadgen.zoo;

/**
 * A uniform distribution.
 *
 * @param low the least value
 * @param high above all values
 */
record Range(float low, float high) {
  /**
   * Keeps the variance of what a rectifier follows: He et al., Delving Deep into Rectifiers,
   * section 2.2.
   */
  static Range beforeRectifier(long inputs) {
    return around(0, Math.sqrt(6.0 / inputs));
  }

  /** Keeps the variance of what nothing rectifies: variance 1 / inputs. */
  static Range linear(long inputs) {
    return around(0, Math.sqrt(3.0 / inputs));
  }

  static Range around(double centre, double halfWidth) {
    return new Range((float) (centre - halfWidth), (float) (centre + halfWidth));
  }
}
