package io.pipelane.server.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.cluster.profile.WorkloadProfile;
import io.pipelane.cluster.speed.MeasuredPair;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SpeedLearningTest {
  private static final int PAIRS = 200;

  private final Random random = new Random(1);
  @TempDir private Path folder = Path.of("");

  /** A job beside online work, which had a part of what the work left. */
  private MeasuredPair pair(double part) {
    double busy = random.nextDouble();
    WorkloadProfile online = new WorkloadProfile(busy, busy, 0.5, 1);
    WorkloadProfile offline = new WorkloadProfile(0.9, 0.9, 0.5, 5);
    return new MeasuredPair(online, offline, 1, part * (1 - busy));
  }

  private SpeedLearning learning() throws IOException {
    return new SpeedLearning(folder.resolve("speeds"));
  }

  @Test
  void pairsOfOneLaw_areLearnt_andAreThereAfterARestart() throws IOException {
    SpeedLearning learning = learning();
    List<MeasuredPair> pairs = new ArrayList<>();
    for (int i = 0; i < PAIRS; i++) {
      pairs.add(pair(1));
    }
    learning.add(pairs);
    SpeedLearning.Learnt learnt = learning.learnt();
    assertEquals(PAIRS, learnt.pairs());
    assertTrue(learnt.predictor().isPresent(), learnt::toString);
    assertEquals(learnt.error(), learning().learnt().error());
  }

  @Test
  void fewPairs_teachNothing() throws IOException {
    SpeedLearning learning = learning();
    learning.add(List.of(pair(1), pair(1)));
    assertFalse(learning.learnt().error().isPresent());
    assertFalse(learning.learnt().predictor().isPresent());
  }

  /** What holds no longer must not look right because it was so for long. */
  @Test
  void newestPairsOfAnotherLaw_keepThePredictorOut() throws IOException {
    SpeedLearning learning = learning();
    List<MeasuredPair> pairs = new ArrayList<>();
    for (int i = 0; i < PAIRS; i++) {
      pairs.add(pair(i < PAIRS * 4 / 5 ? 1 : 0.5));
    }
    learning.add(pairs);
    SpeedLearning.Learnt learnt = learning.learnt();
    assertTrue(learnt.error().orElseThrow() > 0.1, learnt::toString);
    assertFalse(learnt.predictor().isPresent());
  }
}
