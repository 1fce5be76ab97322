package io.pipelane.loadgen.arrival;

import java.util.random.RandomGenerator;

/**
 * Draws from gamma distributions: Marsaglia and Tsang, A Simple Method for Generating Gamma
 * Variables, sections 2 to 4 and 6.
 */
final class GammaVariate {
  private GammaVariate() {}

  /** One value of the distribution with a shape above 0 and scale 1, whose mean is its shape. */
  static double draw(double shape, RandomGenerator random) {
    if (shape < 1) {
      double boost = Math.pow(1 - random.nextDouble(), 1 / shape);
      return drawFromOne(shape + 1, random) * boost;
    }
    return drawFromOne(shape, random);
  }

  private static double drawFromOne(double shape, RandomGenerator random) {
    double d = shape - 1.0 / 3;
    double c = 1 / Math.sqrt(9 * d);
    while (true) {
      double normal = random.nextGaussian();
      double root = 1 + c * normal;
      if (root > 0) {
        double cube = root * root * root;
        double bound = normal * normal / 2 + d - d * cube + d * Math.log(cube);
        if (Math.log(1 - random.nextDouble()) < bound) {
          return d * cube;
        }
      }
    }
  }
}
