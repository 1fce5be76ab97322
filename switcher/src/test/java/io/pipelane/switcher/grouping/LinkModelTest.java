package io.pipelane.switcher.grouping;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.calibration.LinkProfile;
import io.pipelane.lanes.calibration.LinkProfile.Copy;
import java.util.List;
import org.junit.jupiter.api.Test;

class LinkModelTest {
  private static final long MIB = 1 << 20;
  private static final LinkModel ONE_GB_PER_SECOND = rate(1);

  /** A link of so many bytes a nanosecond, measured at a few sizes. */
  private static LinkModel rate(double bytesPerNano) {
    return new LinkModel(
        new LinkProfile(
            List.of(
                new Copy(MIB, MIB / bytesPerNano),
                new Copy(16 * MIB, 16 * MIB / bytesPerNano),
                new Copy(256 * MIB, 256 * MIB / bytesPerNano))));
  }

  @Test
  void beside_lendersOfItsRate_sharesLargeCopiesEvenly() {
    LinkModel three = ONE_GB_PER_SECOND.beside(List.of(rate(1), rate(1)), 4 * MIB);
    assertEquals(85 * MIB, three.copyNanos(255 * MIB));
    assertEquals(MIB, three.copyNanos(MIB));
    assertEquals(4 * MIB, three.copyNanos(4 * MIB));
  }

  @Test
  void beside_aSlowLender_givesItLess() {
    LinkModel both = ONE_GB_PER_SECOND.beside(List.of(rate(0.25)), 4 * MIB);
    assertEquals(Math.ceilDiv(4 * 256 * MIB, 5L), both.copyNanos(256 * MIB));
  }

  @Test
  void beside_nobody_isTheLinkItself() {
    LinkModel same = ONE_GB_PER_SECOND.beside(List.of(), 4 * MIB);
    for (long bytes = 1000; bytes < 1000 * MIB; bytes *= 3) {
      assertEquals(ONE_GB_PER_SECOND.copyNanos(bytes), same.copyNanos(bytes));
    }
  }

  @Test
  void beside_anyone_neverMakesALargerCopyFaster() {
    LinkModel many = ONE_GB_PER_SECOND.beside(List.of(rate(3), rate(0.1), rate(1)), 4 * MIB);
    long before = 0;
    for (long bytes = 1000; bytes < 1000 * MIB; bytes = bytes * 5 / 4) {
      assertTrue(many.copyNanos(bytes) >= before, "at " + bytes);
      before = many.copyNanos(bytes);
    }
  }
}
