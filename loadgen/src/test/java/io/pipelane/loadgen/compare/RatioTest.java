package io.pipelane.loadgen.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class RatioTest {
  @Test
  void of_doubleAndHalf_geometricMeanIsOne() {
    Ratio ratio = Ratio.of(new double[] {20, 5}, new double[] {10, 10});

    assertEquals(1, ratio.mean(), 1e-12);
    assertEquals(0.5, ratio.smallest(), 1e-12);
    assertEquals(2, ratio.largest(), 1e-12);
    assertTrue(ratio.low() < 0.5 && ratio.high() > 2);
  }

  @Test
  void of_driftThatBothShare_cancels() {
    Ratio ratio = Ratio.of(new double[] {11, 22, 33}, new double[] {10, 20, 30});

    assertEquals(1.1, ratio.low(), 1e-9);
    assertEquals(1.1, ratio.high(), 1e-9);
  }
}
