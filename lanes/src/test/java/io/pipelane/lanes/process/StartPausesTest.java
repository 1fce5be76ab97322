package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class StartPausesTest {
  private static final long FIRST = StartPauses.FIRST.toNanos();

  private final StartPauses pauses = new StartPauses(0);

  @Test
  void failed_again_waitsTwiceAsLongUpToALimit() {
    assertEquals(0, pauses.leftNanos(0));
    for (int i = 0; i < 8; i++) {
      pauses.failed(5);
      assertEquals(FIRST << i, pauses.leftNanos(5));
    }
    pauses.failed(5);
    assertEquals(FIRST << 7, pauses.leftNanos(5));
    pauses.succeeded();
    pauses.failed(5);
    assertEquals(FIRST, pauses.leftNanos(5));
  }

  @Test
  void failed_someTimes_thereIsNoHopeUntilThePostIsNewlyVacant() {
    for (int i = 0; i < StartPauses.FAILURES_UNTIL_HOPELESS; i++) {
      assertFalse(pauses.areHopeless());
      pauses.failed(0);
    }
    assertTrue(pauses.areHopeless());
    pauses.beginAnew(7);
    assertFalse(pauses.areHopeless());
    assertEquals(0, pauses.leftNanos(7));
  }

  @Test
  void handedOver_leavesTheProcessorToWhoTakesOver() {
    pauses.handedOver(1);
    assertEquals(StartPauses.HAND_OVER.toNanos(), pauses.leftNanos(1));
    assertTrue(pauses.leftNanos(1 + StartPauses.HAND_OVER.toNanos()) <= 0);
  }
}
