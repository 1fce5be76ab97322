package io.pipelane.switcher.schedule.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import java.util.function.IntToDoubleFunction;
import org.junit.jupiter.api.Test;

/**
 * Loads of callers who ask again as soon as they are answered: what is done in a time depends on
 * how many runs compute at once, and the wait of each on that. A run takes 2 ms at least.
 */
class LaneTrialTest {
  private static final long MILLISECOND = 1_000_000;
  private static final long SECOND = 1_000 * MILLISECOND;
  private static final long LEAST = 2 * MILLISECOND;
  private static final int CALLERS = 16;

  private final long seed = new Random().nextLong();
  private final Random random = new Random(seed);
  private long now;
  private int changes;
  private double done;

  /**
   * Has requests come and go for a while.
   *
   * @param throughput runs at least times in a second, by how many compute at once
   * @param noise standard deviation of what is done in 10 ms, as a share
   */
  private void serve(LaneTrial trial, IntToDoubleFunction throughput, double noise, long nanos) {
    long step = 10 * MILLISECOND;
    double left = 0;
    for (long end = now + nanos; now < end; now += step) {
      double rate =
          throughput.applyAsDouble(trial.lanes())
              * Math.max(0.1, 1 + noise * random.nextGaussian());
      left += rate * step / LEAST;
      done += rate * step / SECOND;
      long latency = (long) (CALLERS * LEAST / rate);
      for (; left >= 1; left--) {
        trial.onlineRan(LEAST, latency);
      }
      if (trial.review(now)) {
        changes++;
      }
    }
  }

  /** More at once is better up to a number, and then worse: memory, caches, switches. */
  private static IntToDoubleFunction best(int lanes) {
    return n -> n <= lanes ? Math.pow(n, 0.7) : Math.pow(lanes, 0.7) * Math.pow(0.85, n - lanes);
  }

  @Test
  void numberThatDoesMost_isFound_whereverItLies() {
    for (int lanes = 1; lanes <= 8; lanes++) {
      LaneTrial trial = new LaneTrial(1, 8, now);
      serve(trial, best(lanes), 0.05, 600 * SECOND);
      assertEquals(lanes, settled(trial, best(lanes)), "seed " + seed);
    }
  }

  /** What it has come to: most of the time, as trials go on now and then. */
  private int settled(LaneTrial trial, IntToDoubleFunction throughput) {
    int[] times = new int[9];
    for (int i = 0; i < 1_000; i++) {
      serve(trial, throughput, 0.05, 100 * MILLISECOND);
      times[trial.lanes()]++;
    }
    int most = 1;
    for (int lanes = 1; lanes < times.length; lanes++) {
      most = times[lanes] > times[most] ? lanes : most;
    }
    return most;
  }

  @Test
  void loadChanges_numberFollows() {
    LaneTrial trial = new LaneTrial(1, 8, now);
    serve(trial, best(3), 0.05, 300 * SECOND);
    assertEquals(3, settled(trial, best(3)), "seed " + seed);
    serve(trial, best(6), 0.05, 2_400 * SECOND);
    assertEquals(6, settled(trial, best(6)), "seed " + seed);
  }

  /** Trials cost what the worse number does in their time, and are rare where they find nothing. */
  @Test
  void bestNumberFromTheBeginning_trialsCostNextToNothing() {
    LaneTrial trial = new LaneTrial(1, 8, now);
    serve(trial, best(8), 0.05, 3_600 * SECOND);
    double share = done / (3_600 * Math.pow(8, 0.7));
    assertTrue(share > 0.999, () -> "share " + share + ", seed " + seed);
  }

  /** Noise may have another one taken, but seldom: none is better. */
  @Test
  void numberThatDoesNotMatter_isSeldomChanged() {
    LaneTrial trial = new LaneTrial(1, 8, now);
    serve(trial, _ -> 2, 0.05, 3_600 * SECOND);
    assertTrue(changes < 400, () -> changes + " changes, seed " + seed);
  }

  /** At a load that any number can serve, the one counts with which answers take least. */
  @Test
  void littleLoad_numberWithTheShortestAnswersIsFound() {
    LaneTrial trial = new LaneTrial(1, 4, now);
    long step = 10 * MILLISECOND;
    for (long end = 120 * SECOND; now < end; now += step) {
      trial.onlineRan(LEAST, (long) (LEAST * (1 + 0.2 * trial.lanes())));
      boolean _ = trial.review(now);
    }
    assertEquals(1, trial.lanes(), "seed " + seed);
  }

  @Test
  void nothingRuns_nothingIsTried() {
    LaneTrial trial = new LaneTrial(1, 8, now);
    int away = 0;
    for (int i = 0; i < 10_000; i++) {
      now += 100 * MILLISECOND;
      boolean _ = trial.review(now);
      away += trial.lanes() == 8 ? 0 : 1;
    }
    assertEquals(0, away, "windows in which nothing ran are the kept number's");
  }

  @Test
  void fixedNumber_staysWhateverIsMeasured() {
    LaneTrial trial = LaneTrial.fixed(8);
    serve(trial, best(2), 0.05, 600 * SECOND);
    assertEquals(8, trial.lanes());
    assertEquals(0, changes);
    assertFalse(trial.review(now));
  }
}
