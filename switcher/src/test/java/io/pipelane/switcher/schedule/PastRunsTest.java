package io.pipelane.switcher.schedule;

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
