package io.pipelane.lanes.cuda.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.cuda.CaptureSettings;
import io.pipelane.lanes.cuda.execution.tensor.InputShapes;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class CapturePolicyTest {
  private final CapturePolicy policy = new CapturePolicy(new CaptureSettings(3, 4));

  private static CaptureKey shapes(long batch) {
    return variant(batch, 0);
  }

  private static CaptureKey variant(long batch, long inPlaceAddress) {
    TensorSpec x = new TensorSpec("x", TensorType.FP32, Shape.of(batch, 8));
    return new CaptureKey(new InputShapes(List.of(x)), inPlaceAddress);
  }

  @Test
  void requested_beforeItsTurn_isNotYet() {
    assertFalse(policy.requested(shapes(1), false));
    assertFalse(policy.requested(shapes(1), false));
    assertFalse(policy.requested(shapes(2), false), "shapes count on their own");
    assertTrue(policy.requested(shapes(1), false));
    assertTrue(policy.requested(shapes(1), false), "a capture that was put off is due again");
  }

  @Test
  void requested_afterItWasCaptured_countsAnew() {
    CapturePolicy immediate = new CapturePolicy(new CaptureSettings(2, 1));
    immediate.requested(shapes(1), false);
    assertTrue(immediate.requested(shapes(1), false));
    immediate.captured(shapes(1));
    assertFalse(immediate.requested(shapes(1), false));
    assertTrue(immediate.requested(shapes(1), false));
    immediate.postponed(shapes(1));
    assertFalse(immediate.requested(shapes(1), false));
  }

  @Test
  void requested_neverOrNoRoom_isNever() {
    CapturePolicy never = new CapturePolicy(CaptureSettings.NEVER);
    CapturePolicy withoutRoom = new CapturePolicy(new CaptureSettings(1, 0));
    for (int i = 0; i < 3; i++) {
      assertFalse(never.requested(shapes(1), false));
      assertFalse(withoutRoom.requested(shapes(1), false));
    }
  }

  @Test
  void requested_manyShapes_forgetsTheOneLeastRecentlyAsked() {
    policy.requested(shapes(0), false);
    policy.requested(shapes(0), false);
    for (int i = 1; i <= CapturePolicy.SHAPES_COUNTED; i++) {
      policy.requested(shapes(i), false);
    }
    assertFalse(policy.requested(shapes(0), false));
  }

  @Test
  void requested_variantsThatReadInPlace_countOnTheirOwn() {
    assertFalse(policy.requested(variant(1, 4096), false));
    assertFalse(policy.requested(variant(1, 4096), false));
    assertFalse(policy.requested(variant(1, 8192), false));
    assertTrue(policy.requested(variant(1, 4096), false));
  }

  @Test
  void requested_noRoom_isForShapesInTheirTurnAndForVariantsOnceItPays() {
    for (int i = 1; i < CapturePolicy.REQUESTS_THAT_PAY; i++) {
      assertFalse(policy.requested(variant(1, 4096), true), "request " + i);
      assertEquals(i >= 3, policy.requested(variant(1, 0), true), "request " + i);
    }
    assertTrue(policy.requested(variant(1, 4096), true));
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
      assertFalse(policy.requested(shapes(1), false));
    }
  }

  @Test
  void resumed_capturesAgainUnlessItWasRefusedForGood() {
    policy.suspended("there was no memory");
    assertEquals(Optional.of("there was no memory"), policy.refusal());
    policy.resumed();
    assertEquals(Optional.empty(), policy.refusal());
    policy.refused("an input is read on the host");
    policy.suspended("there was no memory");
    policy.resumed();
    assertEquals(Optional.of("an input is read on the host"), policy.refusal());
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
