package io.pipelane.switcher.residency;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class PacingTest {
  private final Pacing pacing = new Pacing(16);

  @Test
  void holdsBack_whileSomethingRuns_sixteenTimesAsLongAsAPageTook() {
    pacing.sent(1_000);
    pacing.arrived(1_100);
    assertTrue(pacing.holdsBack(1, 1_100));
    assertEquals(1_600, pacing.restNanos(1_100));
    assertTrue(pacing.holdsBack(1, 2_699));
    assertFalse(pacing.holdsBack(1, 2_700));
    assertEquals(0, pacing.restNanos(2_700));
  }

  @Test
  void holdsBack_nothingRuns_never() {
    pacing.sent(1_000);
    pacing.arrived(1_100);
    assertFalse(pacing.holdsBack(0, 1_100));
  }

  @Test
  void holdsBack_copiesDoNotSlowRunsDown_never() {
    Pacing other = new Pacing(0);
    other.sent(1_000);
    other.arrived(1_100);
    assertFalse(other.holdsBack(2, 1_100));
  }

  @Test
  void begin_afterSomethingWasHeldBack_nothingIs() {
    pacing.sent(1_000);
    pacing.arrived(1_100);
    assertTrue(pacing.holdsBack(1, 1_100));
    pacing.begin();
    assertEquals(0, pacing.restNanos(1_100));
  }
}
