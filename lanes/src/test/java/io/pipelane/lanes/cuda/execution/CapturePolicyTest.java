package io.pipelane.lanes.cuda.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class CapturePolicyTest {
  private final CapturePolicy policy = new CapturePolicy(new CaptureSettings(3, 4));

  private static InputShapes shapes(long batch) {
    return new InputShapes(List.of(new TensorSpec("x", TensorType.FP32, Shape.of(batch, 8))));
  }

  @Test
  void requested_beforeItsTurn_isNotYet() {
    assertFalse(policy.requested(shapes(1)));
    assertFalse(policy.requested(shapes(1)));
    assertFalse(policy.requested(shapes(2)), "shapes count on their own");
    assertTrue(policy.requested(shapes(1)));
    assertTrue(policy.requested(shapes(1)), "a capture that was put off is due again");
  }

  @Test
  void requested_afterItWasCaptured_countsAnew() {
    CapturePolicy immediate = new CapturePolicy(new CaptureSettings(2, 1));
    immediate.requested(shapes(1));
    assertTrue(immediate.requested(shapes(1)));
    immediate.captured(shapes(1));
    assertFalse(immediate.requested(shapes(1)));
    assertTrue(immediate.requested(shapes(1)));
    immediate.postponed(shapes(1));
    assertFalse(immediate.requested(shapes(1)));
  }

  @Test
  void requested_neverOrNoRoom_isNever() {
    CapturePolicy never = new CapturePolicy(CaptureSettings.NEVER);
    CapturePolicy withoutRoom = new CapturePolicy(new CaptureSettings(1, 0));
    for (int i = 0; i < 3; i++) {
      assertFalse(never.requested(shapes(1)));
      assertFalse(withoutRoom.requested(shapes(1)));
    }
  }

  @Test
  void requested_manyShapes_forgetsTheOneLeastRecentlyAsked() {
    policy.requested(shapes(0));
    policy.requested(shapes(0));
    for (int i = 1; i <= CapturePolicy.SHAPES_COUNTED; i++) {
      policy.requested(shapes(i));
    }
    assertFalse(policy.requested(shapes(0)));
  }

  @Test
  void failed_severalTimes_givesUpWithTheLastReason() {
    for (int i = 1; i < CapturePolicy.ATTEMPTS; i++) {
      policy.failed("once");
      assertEquals(Optional.empty(), policy.refusal());
    }
    policy.failed("again");
    assertEquals(Optional.of("again"), policy.refusal());
    for (int i = 0; i < 5; i++) {
      assertFalse(policy.requested(shapes(1)));
    }
  }

  @Test
  void refused_isAtOnce() {
    policy.refused("an input is read on the host");
    assertEquals(Optional.of("an input is read on the host"), policy.refusal());
  }

  @Test
  void settings_negative_areRefused() {
    assertThrows(IllegalArgumentException.class, () -> new CaptureSettings(-1, 1));
    assertThrows(IllegalArgumentException.class, () -> new CaptureSettings(1, -1));
  }
}
