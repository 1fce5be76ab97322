package io.pipelane.switcher.schedule.estimate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.switcher.schedule.queue.Requests;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class EstimatesTest {
  private final AtomicLong stall = new AtomicLong();
  private final AtomicLong now = new AtomicLong();
  private final Estimates estimates =
      new Estimates(_ -> stall.get(), _ -> stall.get(), _ -> stall.get(), now::get);
  private final RunKey key = RunKey.of(Requests.request("m", OptionalLong.empty()));

  @Test
  void ran_coldRun_doesNotCountAsTimeOfTheRun() {
    Requests.learn(estimates, "m", 1_000);

    estimates.ran(key, 5_000, 4_000, 5_000, 0);

    assertEquals(1_000, estimates.executionNanos(key));
  }

  /** One that never finds its weights there would be known by its very first run otherwise. */
  @Test
  void ran_alwaysCold_isCorrectedByLaterRunsUntilOneIsWarm() {
    estimates.ran(key, 0, 4_000, 1_004_000, 4_000);
    for (int i = 0; i < 50; i++) {
      estimates.ran(key, 5_000, 4_000, 6_000, 4_000);
    }
    assertEquals(2_000, estimates.executionNanos(key) / 100 * 100);
    assertEquals(0, estimates.history().of(key).leastNanos(0), "a warm run may take less");

    estimates.ran(key, 0, 0, 1_000, 0);
    assertEquals(1_000, estimates.executionNanos(key));
  }

  @Test
  void medianError_estimatesTenPercentShort_isThat() {
    estimates.ran(key, 0, 0, 1_000, 0);
    for (int i = 0; i < 5; i++) {
      estimates.ran(key, 900, 0, 1_000, 0);
    }

    assertEquals(0.1, estimates.medianError(), 1e-9);
  }

  /** Whatever runs are said to have taken, and to have waited. */
  @Test
  void estimates_anyHistory_areNeverNegative() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    for (int history = 0; history < 1_000; history++) {
      PastRuns past = new PastRuns();
      for (int step = 0; step < 40; step++) {
        now.addAndGet(anyTime(random));
        stall.set(anyTime(random));
        estimates.ran(past, anyTime(random), anyTime(random), anyTime(random), anyTime(random));
        past.took(anyTime(random));
        long least = past.leastNanos(now.get());
        long later = past.leastNanos(now.get() + anyTime(random));
        assertTrue(0 <= later && later <= least, "seed " + seed);
        assertTrue(least / 2 <= past.usualNanos(), "seed " + seed);
        assertTrue(past.leastNanos(now.get() - anyTime(random)) >= 0, "seed " + seed);
        assertTrue(past.knownNanos() >= 0 && past.medianNanos() >= 0, "seed " + seed);
        assertTrue(past.peakBytes() >= 0, "seed " + seed);
      }
    }
  }

  /** Nothing, or from nanoseconds to hours. */
  private static long anyTime(Random random) {
    return random.nextInt(4) == 0 ? 0 : random.nextLong(1L << (1 + random.nextInt(44)));
  }
}
