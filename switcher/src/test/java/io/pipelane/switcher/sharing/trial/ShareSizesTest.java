package io.pipelane.switcher.sharing.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class ShareSizesTest {
  private static final long SECOND = 1_000_000_000L;

  private final ShareSizes sizes = new ShareSizes(List.of(5, 10, 20));

  @Test
  void nothingMeasured_eachIsExpectedToSlowALittle() {
    for (int size = 0; size < sizes.count(); size++) {
      assertEquals(ShareSizes.SUSPECTED, sizes.slower(size, 0), 1e-9);
    }
  }

  @Test
  void oneMeasured_largerAreExpectedToSlowAsMuchMore() {
    sizes.measured(0, 1.01, 0.5, 0);
    assertEquals(1.02, sizes.slower(1, 0), 1e-9);
    assertEquals(1.04, sizes.slower(2, 0), 1e-9);
  }

  @Test
  void oneMeasured_smallerAreExpectedToSlowAsMuchLessOrALittle() {
    sizes.measured(2, 1.02, 0.5, 0);
    assertEquals(1.01, sizes.slower(1, 0), 1e-9);
    assertEquals(1.005, sizes.slower(0, 0), 1e-9);
    sizes.measured(2, 1.4, 0.5, 0);
    assertEquals(ShareSizes.SUSPECTED, sizes.slower(0, 0), 1e-9);
  }

  @Test
  void whatIsKnown_halvesInTenMinutes() {
    sizes.measured(1, 1.1, 0.5, 0);
    assertEquals(1.1, sizes.slower(1, 0), 1e-9);
    assertEquals(1.06, sizes.slower(1, 600 * SECOND), 1e-9);
    assertEquals(1.04, sizes.slower(1, 1200 * SECOND), 1e-9);
  }

  @Test
  void pauseThatIsOver_leavesNothingKnown() {
    sizes.measured(1, 1.5, 0.5, 0);
    sizes.pays(1);
    sizes.pause(1, 0);
    assertFalse(sizes.isKnownToPay(1));
    sizes.look(59 * SECOND);
    assertTrue(sizes.isPaused(1));
    assertFalse(sizes.arePaused(1));
    sizes.look(60 * SECOND);
    assertFalse(sizes.isPaused(1));
    assertFalse(sizes.isMeasured(1));
    sizes.pause(1, 60 * SECOND);
    sizes.look(179 * SECOND);
    assertTrue(sizes.isPaused(1), "twice as long");
  }

  @Test
  void atMost_isTheLargestThatIsNoLargerOrTheSmallest() {
    assertEquals(0, sizes.atMost(3));
    assertEquals(1, sizes.atMost(10));
    assertEquals(1, sizes.atMost(19));
    assertEquals(2, sizes.atMost(100));
  }
}
