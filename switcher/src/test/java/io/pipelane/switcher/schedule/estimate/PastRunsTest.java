package io.pipelane.switcher.schedule.estimate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class PastRunsTest {
  private final PastRuns runs = new PastRuns();

  private void took(int times, long bytes) {
    for (int run = 0; run < times; run++) {
      runs.took(bytes);
    }
  }

  @Test
  void least_ofAModelWhoseRunsAlwaysFindWeightsMissing_staysKnown() {
    long second = 1_000_000_000;
    for (int run = 0; run < 3; run++) {
      runs.ran(5_000_000, run * second);
    }
    for (int run = 3; run < 300; run++) {
      runs.ranCold(6_000_000, run * second);
    }
    assertEquals(5_000_000, runs.leastNanos(300 * second));
    assertEquals(2_500_000, runs.leastNanos(315 * second), "nothing ran for a while");
    assertEquals(5_000_000, runs.bestNanos());
  }

  @Test
  void peak_isTheMostThatARunTook() {
    runs.took(100);
    runs.took(140);
    took(1_000, 120);
    assertEquals(140, runs.peakBytes());
  }

  @Test
  void peak_isForgottenOnceManyRunsHaveTakenMuchLess() {
    runs.took(1_000);
    took(31, 100);
    assertEquals(1_000, runs.peakBytes());
    runs.took(600);
    took(31, 100);
    assertEquals(1_000, runs.peakBytes(), "one of them came near it");
    runs.took(200);
    assertEquals(200, runs.peakBytes());
  }
}
