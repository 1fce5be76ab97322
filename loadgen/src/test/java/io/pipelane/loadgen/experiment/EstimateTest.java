package io.pipelane.loadgen.experiment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class EstimateTest {
  /** Student's own sleep data (1908): mean 1.58, 95 % interval 0.70 to 2.46. */
  @Test
  void of_studentsSleepData_hisInterval() {
    Estimate estimate = Estimate.of(1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4);

    assertEquals(1.58, estimate.mean(), 1e-9);
    assertEquals(0.88, estimate.halfWidth(), 0.005);
  }

  /** Student's t for 40 and 120 degrees of freedom is 2.0211 and 1.9799 in published tables. */
  @Test
  void of_moreRunsThanTheTableHas_quantileStillOfStudents() {
    assertEquals(2.0211, quantile(41), 0.002);
    assertEquals(1.9799, quantile(121), 0.002);
  }

  /** The half width of an interval over values that are -1 and 1 in turn, without their scatter. */
  private static double quantile(int runs) {
    double[] values = IntStream.range(0, runs).mapToDouble(i -> i % 2 == 0 ? 1 : -1).toArray();
    double mean = 1.0 / runs;
    double deviation = Math.sqrt(runs * (1 - mean * mean) / (runs - 1));
    return Estimate.of(values).halfWidth() / (deviation / Math.sqrt(runs));
  }

  @Test
  void of_oneValue_noInterval() {
    Estimate estimate = Estimate.of(5);

    assertEquals(5, estimate.mean());
    assertTrue(Double.isNaN(estimate.halfWidth()));
  }

  @Test
  void of_manySamples_coversTheTrueMeanNinetyFiveTimesInAHundred() {
    long seed = 17;
    SplittableRandom random = new SplittableRandom(seed);
    int covered = 0;
    for (int i = 0; i < 10_000; i++) {
      Estimate estimate =
          Estimate.of(random.nextGaussian(), random.nextGaussian(), random.nextGaussian());
      covered += Math.abs(estimate.mean()) <= estimate.halfWidth() ? 1 : 0;
    }

    assertEquals(9_500, covered, 100, "seed " + seed);
  }
}
