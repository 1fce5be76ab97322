package io.pipelane.cluster.simulator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RequestWaitsTest {
  private static final int REQUESTS = 400_000;

  /** Against a queue that is played through, request by request. */
  @ParameterizedTest
  @ValueSource(doubles = {0.1, 0.24, 0.6, 0.85})
  void meanAndTail_areThoseOfAQueueThatIsPlayedThrough(double utilization) {
    SplittableRandom random = new SplittableRandom(11);
    double[] waits = new double[REQUESTS];
    double wait = 0;
    for (int i = 0; i < REQUESTS; i++) {
      waits[i] = wait;
      wait = Math.max(0, wait + 1 - random.nextExponential() / utilization);
    }
    double mean = Arrays.stream(waits).average().orElse(0);
    Arrays.sort(waits);
    RequestWaits formula = RequestWaits.at(utilization);

    assertEquals(mean, formula.mean(), 0.06 * mean, "seed 11");
    double p99 = waits[(int) (0.99 * REQUESTS)];
    assertEquals(p99, formula.quantile(0.99), Math.max(0.06, 0.08 * p99), "seed 11");
    assertEquals(0.01, formula.beyond(formula.quantile(0.99)), 1e-9);
  }
}
