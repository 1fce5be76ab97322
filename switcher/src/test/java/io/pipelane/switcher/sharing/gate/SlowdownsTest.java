package io.pipelane.switcher.sharing.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ModelVersion;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Online runs that take longer the more of its speed offline work has, and a clock of steps. */
class SlowdownsTest {
  private static final ModelVersion MODEL = new ModelVersion("online", 1);
  private static final ModelVersion OTHER = new ModelVersion("other", 1);
  private static final long PERIOD = 100_000_000;
  private static final double ALONE = 1_000_000;
  private static final double LIMIT = 1.05;

  private final long seed = new Random().nextLong();
  private final Random random = new Random(seed);
  private long now = random.nextLong();
  private final Slowdowns slowdowns = new Slowdowns(now);
  private boolean offline = true;

  /**
   * Looks so often, with some runs before each; returns their mean slowdown beside offline work.
   */
  private double run(ModelVersion model, double atFullSpeed, double noise, int runs, int looks) {
    double sum = 0;
    for (int look = 0; look < looks; look++) {
      boolean beside = offline && slowdowns.share() > 0;
      for (int i = 0; i < runs; i++) {
        double slowdown = beside ? 1 + (atFullSpeed - 1) * slowdowns.share() : 1;
        double nanos = ALONE * slowdown * (1 + noise * random.nextGaussian());
        slowdowns.ran(model, "a kind", (long) nanos, beside);
        sum += slowdown;
      }
      look();
    }
    return sum / Math.max(1, runs * looks);
  }

  private void look() {
    now += PERIOD;
    double share = slowdowns.steer(now);
    assertTrue(share == 0 || (share >= LaunchThrottle.LEAST_SHARE && share <= 1), "seed " + seed);
  }

  private void learnAlone(ModelVersion model) {
    offline = false;
    run(model, 1, 0, 4, 10);
    offline = true;
  }

  @Test
  void noLimit_neverThrottles() {
    run(MODEL, 5, 0, 10, 50);
    assertEquals(1, slowdowns.share());
    assertEquals(Map.of(), slowdowns.ratios());
  }

  @Test
  void belowTheLimit_fullSpeed() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    learnAlone(MODEL);
    run(MODEL, 1.03, 0, 10, 100);
    assertEquals(1, slowdowns.share());
    assertEquals(1.03, slowdowns.ratios().getOrDefault(MODEL, 0.0), 0.001);
  }

  @Test
  void aboveTheLimit_settlesAtItAndFollowsSteps() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    learnAlone(MODEL);
    run(MODEL, 1.5, 0, 10, 100);
    assertEquals(LIMIT, run(MODEL, 1.5, 0, 10, 50), 0.01);
    assertEquals(0.1, slowdowns.share(), 0.02);
    run(MODEL, 1.1, 0, 10, 200);
    assertEquals(LIMIT, run(MODEL, 1.1, 0, 10, 50), 0.01);
    assertEquals(0.5, slowdowns.share(), 0.05);
    run(MODEL, 1.5, 0, 10, 40);
    assertEquals(LIMIT, run(MODEL, 1.5, 0, 10, 50), 0.01);
  }

  @Test
  void anyStrengthAndNoise_staysNearTheLimitOnTheMean() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    learnAlone(MODEL);
    for (int round = 0; round < 100; round++) {
      double atFullSpeed = 1.06 + 1.5 * random.nextDouble();
      run(MODEL, atFullSpeed, 0.02, 10, 100);
      double mean = run(MODEL, atFullSpeed, 0.02, 10, 200);
      String what = "seed %d: %s at full speed, %s".formatted(seed, atFullSpeed, mean);
      assertTrue(mean > 1 && mean < LIMIT + 0.03, what);
    }
  }

  /** Whatever little offline work does is too much: it is stopped, and tried now and then. */
  @Test
  void worseThanCanBeThrottled_isStoppedMostOfTheTimeAndTriedAgain() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    learnAlone(MODEL);
    run(MODEL, 20, 0, 10, 50);
    int stopped = 0;
    for (int i = 0; i < 500; i++) {
      run(MODEL, 20, 0, 10, 1);
      stopped += slowdowns.share() == 0 ? 1 : 0;
    }
    int looks = stopped;
    assertTrue(looks > 300 && looks < 500, () -> "stopped at %d of 500".formatted(looks));
    run(MODEL, 1.01, 0, 10, 300);
    assertEquals(1, slowdowns.share(), "it harms no longer");
  }

  @Test
  void afterALongTimeAtABound_doesNotWindUp() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    learnAlone(MODEL);
    run(MODEL, 1.01, 0, 10, 5_000);
    run(MODEL, 2, 0, 10, 20);
    assertTrue(slowdowns.share() < 0.2, () -> "after 2 s it is " + slowdowns.share());
  }

  @Test
  void onlineWorkEnds_offlineWorkGetsAllWithinSeconds() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    learnAlone(MODEL);
    run(MODEL, 10, 0, 10, 50);
    run(MODEL, 10, 0, 0, 25);
    assertEquals(1, slowdowns.share());
  }

  /** Between two requests nothing is learnt, so nothing moves. */
  @Test
  void oneSlowRun_isNotCountedAgainUntilTheNext() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    learnAlone(MODEL);
    requireOneSlowRunCountsOnce(() -> {});
  }

  @Test
  void oneSlowRun_anotherModelIsIdle_isNotCountedAgain() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    slowdowns.agree(OTHER, Optional.of(LIMIT));
    learnAlone(MODEL);
    requireOneSlowRunCountsOnce(() -> {});
  }

  @Test
  void oneSlowRun_anotherModelRuns_isNotCountedAgain() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    slowdowns.agree(OTHER, Optional.of(LIMIT));
    learnAlone(MODEL);
    learnAlone(OTHER);
    requireOneSlowRunCountsOnce(() -> slowdowns.ran(OTHER, "a kind", (long) ALONE, true));
  }

  private void requireOneSlowRunCountsOnce(Runnable meanwhile) {
    run(MODEL, 1.04, 0, 10, 20);
    slowdowns.ran(MODEL, "a kind", (long) (100 * ALONE), true);
    look();
    double after = slowdowns.share();
    assertTrue(after > 0.7 && after < 1, () -> "one run brings it to " + after);
    for (int i = 0; i < 5; i++) {
      meanwhile.run();
      look();
      assertEquals(after, slowdowns.share());
    }
  }

  /** There is nothing to compare with before it has run alone, so it is let run alone. */
  @Test
  void neverAlone_offlineWorkStopsUntilThatIsKnown() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    for (int looks = 0; slowdowns.share() > 0; looks++) {
      run(MODEL, 1.02, 0, 5, 1);
      assertTrue(looks < 20, () -> "share " + slowdowns.share());
    }
    assertEquals(1, slowdowns.ratios().getOrDefault(MODEL, 0.0), 0.001);
    run(MODEL, 1.02, 0, 5, 400);
    assertEquals(1, slowdowns.share());
    assertEquals(1.02, slowdowns.ratios().getOrDefault(MODEL, 0.0), 0.001);
  }

  /** Sentences of any length, for one: hardly a kind ever comes again. */
  @Test
  void kindsWithoutEnd_offlineWorkIsNotStoppedForEver() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    boolean stopped = false;
    for (int i = 0; i < 100; i++) {
      boolean beside = slowdowns.share() > 0;
      stopped |= !beside;
      slowdowns.ran(MODEL, i, (long) ALONE, beside);
      look();
    }
    assertTrue(stopped, "nothing was known at first");
    assertEquals(1, slowdowns.share());
  }

  @Test
  void kindsBeside_doNotDriveOutThoseThatAreKnown() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    learnAlone(MODEL);
    for (int i = 0; i < 1_000; i++) {
      slowdowns.ran(MODEL, i, (long) ALONE, true);
    }
    run(MODEL, 1.5, 0, 10, 50);
    assertTrue(slowdowns.share() < 0.3, () -> "share " + slowdowns.share());
  }

  /** A run every two seconds. */
  @Test
  void rareRuns_areLearntAloneAllTheSameAndKeptToTheLimit() {
    slowdowns.agree(MODEL, Optional.of(1.2));
    run(MODEL, 2, 0, 1, 1);
    for (int runs = 0; runs < 8; runs++) {
      assertEquals(0, slowdowns.share(), "stays so while nothing comes");
      run(MODEL, 2, 0, 0, 19);
      run(MODEL, 2, 0, 1, 1);
    }
    assertTrue(slowdowns.share() > 0.5, "runs alone are known");
    double sum = 0;
    int runs = 100;
    for (int i = 0; i < runs; i++) {
      run(MODEL, 2, 0, 0, 19);
      sum += run(MODEL, 2, 0, 1, 1);
    }
    double mean = sum / runs;
    assertTrue(mean > 1.05 && mean < 1.3, () -> "slowed down to " + mean);
  }

  /** Else a model that is asked once would stop offline work for ever. */
  @Test
  void neverAlone_nobodyAsksAgain_offlineWorkGoesOn() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    run(MODEL, 2, 0, 1, 1);
    run(MODEL, 2, 0, 0, 550);
    assertEquals(0, slowdowns.share());
    run(MODEL, 2, 0, 0, 100);
    assertEquals(1, slowdowns.share());
    int looks = 0;
    int stopped = 0;
    for (; looks < 40_000; looks++) { // A run that comes when it has given up, again and again.
      run(MODEL, 2, 0, slowdowns.share() > 0 ? 1 : 0, 1);
      stopped += slowdowns.share() > 0 ? 0 : 1;
    }
    int in = stopped;
    assertTrue(in < 6_100, () -> "stopped at %d of 40000".formatted(in));
  }

  /** What was taken for alone was not. */
  @Test
  void meanBesideOfflineWorkIsLessThanAlone_isTheMeanAlone() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    for (int i = 0; i < 100; i++) {
      slowdowns.ran(MODEL, "a kind", (long) (2 * ALONE), false);
    }
    run(MODEL, 1, 0, 10, 50);
    assertEquals(1, slowdowns.share());
    run(MODEL, 1.5, 0, 10, 50);
    assertEquals(LIMIT, run(MODEL, 1.5, 0, 10, 50), 0.02);
  }

  @Test
  void kinds_areComparedWithThemselves() {
    slowdowns.agree(MODEL, Optional.of(LIMIT));
    learnAlone(MODEL);
    for (int i = 0; i < 20; i++) {
      slowdowns.ran(MODEL, "a longer kind", (long) (7 * ALONE), false);
    }
    for (int i = 0; i < 50; i++) {
      slowdowns.ran(MODEL, "a longer kind", (long) (7 * ALONE), true);
      slowdowns.ran(MODEL, "a kind that has never run alone", (long) (70 * ALONE), true);
      look();
    }
    assertEquals(1, slowdowns.share());
  }

  @Test
  void severalModels_theWorstCountsUntilItIsForgotten() {
    slowdowns.agree(MODEL, Optional.of(2.0));
    slowdowns.agree(OTHER, Optional.of(LIMIT));
    learnAlone(MODEL);
    learnAlone(OTHER);
    for (int i = 0; i < 100; i++) {
      run(MODEL, 1.5, 0, 10, 1);
      run(OTHER, 1.5, 0, 10, 1);
    }
    assertTrue(slowdowns.share() < 0.2, () -> "share " + slowdowns.share());
    slowdowns.agree(OTHER, Optional.empty());
    run(MODEL, 1.5, 0, 10, 100);
    assertEquals(1, slowdowns.share());
    slowdowns.forget(MODEL);
    assertEquals(Map.of(), slowdowns.ratios());
  }
}
