package io.pipelane.cluster.speed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.cluster.profile.WorkloadProfile;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class PerceptronPredictorTest {
  /** A speed that is least(1, share / activity) of the time that online work leaves. */
  private static List<MeasuredPair> pairs(int count, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<MeasuredPair> pairs = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      double online = random.nextDouble(0.05, 0.6);
      double offline = random.nextDouble(0.4, 1);
      double share = random.nextDouble(0.2, 1);
      pairs.add(
          new MeasuredPair(
              new WorkloadProfile(online, online / 2, 0.4, random.nextDouble(1, 20)),
              new WorkloadProfile(1, offline, 0.5, random.nextDouble(50, 500)),
              share,
              (1 - online) * Math.min(1, share / offline)));
    }
    return pairs;
  }

  @Test
  void error_ofPairsThatWereNotLearned_isBelowATenth() {
    PerceptronPredictor predictor = PerceptronPredictor.train(pairs(800, 1), 60, 1);

    double error = predictor.error(pairs(200, 2));

    assertTrue(error < 0.1, "error " + error);
  }

  @Test
  void train_ofTheSameSeed_predictsTheSame() {
    List<MeasuredPair> pairs = pairs(50, 3);
    MeasuredPair asked = pairs.getFirst();

    double first =
        PerceptronPredictor.train(pairs, 5, 7)
            .normalizedThroughput(asked.online(), asked.offline(), asked.share());
    double again =
        PerceptronPredictor.train(pairs, 5, 7)
            .normalizedThroughput(asked.online(), asked.offline(), asked.share());

    assertEquals(first, again);
  }

  @Test
  void predictions_areBetween0And1_farFromWhatWasLearned() {
    PerceptronPredictor predictor = PerceptronPredictor.train(pairs(100, 4), 20, 1);
    WorkloadProfile idle = new WorkloadProfile(0, 0, 0, 0.01);
    WorkloadProfile full = new WorkloadProfile(1, 1, 1, 1e6);

    for (double share : new double[] {0.01, 1}) {
      assertIsShare(predictor.normalizedThroughput(idle, full, share));
      assertIsShare(predictor.normalizedThroughput(full, idle, share));
    }
  }

  private static void assertIsShare(double value) {
    assertTrue(value >= 0 && value <= 1, "" + value);
  }

  @Test
  void train_onTooFewPairs_isRefused() {
    assertThrows(
        IllegalArgumentException.class, () -> PerceptronPredictor.train(pairs(9, 1), 1, 1));
  }
}
