package io.pipelane.switcher.residency;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

class StallCurveTest {
  @Test
  void gain_stallThatFallsLate_isSpreadOverThePagesThatItTakes() {
    double[] stalls = {9, 9, 3, 2, 2};
    StallCurve curve = StallCurve.of(4, pages -> stalls[pages]);
    assertEquals(4, curve.pages());
    assertEquals(3, curve.gainNanos(0), 1e-12);
    assertEquals(3, curve.gainNanos(1), 1e-12);
    assertEquals(1, curve.gainNanos(2), 1e-12);
    assertEquals(0, curve.gainNanos(3), 1e-12);
    assertEquals(9, curve.nanos(1));
  }

  @Test
  void nanos_costThatRisesAgain_countsAsTheLeastBefore() {
    double[] stalls = {5, 1, 2};
    StallCurve curve = StallCurve.of(2, pages -> stalls[pages]);
    assertEquals(1, curve.nanos(2));
    assertEquals(0, curve.gainNanos(1));
  }

  @Test
  void withPenalty_waitsStayAsTheyAreAndGainsShareTheStep() {
    double[] stalls = {4, 3, 2, 1, 0};
    StallCurve curve =
        StallCurve.of(4, pages -> stalls[pages]).withPenalty(pages -> pages < 2 ? 10 : 0);
    assertEquals(4, curve.nanos(0));
    assertEquals(2, curve.nanos(2));
    assertEquals(6, curve.gainNanos(0), 1e-12);
    assertEquals(6, curve.gainNanos(1), 1e-12);
    assertEquals(1, curve.gainNanos(2), 1e-12);
    assertEquals(1, curve.gainNanos(3), 1e-12);
  }

  @Test
  void of_modelWithoutPages_hasNoGains() {
    assertEquals(0, StallCurve.of(0, pages -> 7).pages());
  }

  @RepeatedTest(20)
  void gains_anyStalls_fallAndStayBelowTheStalls() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    int pages = 1 + random.nextInt(20);
    double[] stalls = random.doubles(pages + 1).sorted().toArray();
    StallCurve curve = StallCurve.of(pages, there -> stalls[pages - there]);
    double envelope = curve.nanos(0);
    for (int page = 0; page < pages; page++) {
      assertTrue(page == 0 || curve.gainNanos(page) <= curve.gainNanos(page - 1), "seed " + seed);
      envelope -= curve.gainNanos(page);
      assertTrue(envelope <= curve.nanos(page + 1) + 1e-9, "seed " + seed);
    }
    assertEquals(curve.nanos(pages), envelope, 1e-9, "seed " + seed);
  }
}
