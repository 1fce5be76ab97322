package io.pipelane.loadgen.experiment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class EstimateTest {
  /** Student's own sleep data (1908): mean 1.58, 95 % interval 0.70 to 2.46. */
  @Test
  void of_studentsSleepData_hisInterval() {
    Estimate estimate = Estimate.of(1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4);

    assertEquals(1.58, estimate.mean(), 1e-9);
    assertEquals(0.88, estimate.halfWidth(), 0.005);
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
