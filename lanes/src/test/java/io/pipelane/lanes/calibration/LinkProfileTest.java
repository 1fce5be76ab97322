package io.pipelane.lanes.calibration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.lanes.calibration.LinkProfile.Copy;
import java.util.List;
import org.junit.jupiter.api.Test;

class LinkProfileTest {
  private static final double COST = 3000;
  private static final double NANOS_PER_BYTE = 1 / 55.5;

  private static Copy copy(long bytes) {
    return new Copy(bytes, COST + bytes * NANOS_PER_BYTE);
  }

  private static final LinkProfile LINE =
      new LinkProfile(List.of(copy(1 << 16), copy(1 << 20), copy(1 << 26)));

  @Test
  void costPerCopy_ofALine_isItsConstantTerm() {
    assertEquals(COST, LINE.costPerCopyNanos(), 1);
  }

  @Test
  void costPerCopy_ofOneSize_isNothing() {
    assertEquals(0, new LinkProfile(List.of(copy(100))).costPerCopyNanos());
  }

  @Test
  void copyNanos_ofALine_isTheLine() {
    for (long bytes : new long[] {1, 1 << 12, 1 << 16, 3 << 18, 1 << 25}) {
      assertEquals(COST + bytes * NANOS_PER_BYTE, LINE.copyNanos(bytes), 1, bytes + " bytes");
    }
  }

  @Test
  void bandwidth_beyondTheLargestSize_isItsRate() {
    assertEquals(LINE.bandwidth(1 << 26), LINE.bandwidth(1L << 34), 1);
  }

  @Test
  void profile_outOfOrderOrEmpty_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> new LinkProfile(List.of()));
    assertThrows(IllegalArgumentException.class, () -> new LinkProfile(List.of(copy(2), copy(1))));
    assertThrows(IllegalArgumentException.class, () -> new Copy(1, Double.NaN));
  }
}
