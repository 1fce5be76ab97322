package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.Batching;
import io.pipelane.modelstore.Padding;
import io.pipelane.modelstore.Plan;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A model of texts and one number, expected to take 5 ms. */
class PlannedTimeTest {
  private static final long MILLISECOND = 1_000_000;

  private static Plan plan(boolean repeats, long... estimates) {
    return new Plan(
        "structure",
        List.of(
            new TensorSpec("text", TensorType.INT64, Shape.of(-1, -1)),
            new TensorSpec("number", TensorType.FP32, Shape.of(4))),
        List.of(),
        List.of(),
        List.of(),
        List.of(),
        Arrays.stream(estimates).mapToObj(t -> new Plan.Segment(0, 0, 1, t)).toList(),
        0,
        0,
        0,
        Padding.notApplicable("nobody has tried"),
        Batching.notApplicable("nobody has tried"),
        false,
        0,
        repeats,
        List.of());
  }

  private static long nanos(Plan plan, long rows, long words) {
    return PlannedTime.nanos(
        plan,
        List.of(
            new InputTensor("text", TensorType.INT64, Shape.of(rows, words), MemorySegment.NULL),
            new InputTensor("number", TensorType.FP32, Shape.of(4), MemorySegment.NULL)));
  }

  private static Plan usual() {
    return plan(false, 2 * MILLISECOND, 3 * MILLISECOND);
  }

  @Test
  void nanos_nothingIsLargerThanEstimated_isTheSum() {
    assertEquals(5 * MILLISECOND, nanos(usual(), 1, 128));
    assertEquals(5 * MILLISECOND, nanos(usual(), 1, 2), "less is not counted on");
  }

  @Test
  void nanos_largerInputs_growTwiceOver() {
    assertEquals(4 * 5 * MILLISECOND, nanos(usual(), 1, 256));
    assertEquals(64 * 5 * MILLISECOND, nanos(usual(), 8, 128));
    assertEquals(64 * 16 * 5 * MILLISECOND, nanos(usual(), 8, 512));
  }

  @Test
  void nanos_planDoesNotSay_isNone() {
    assertEquals(0, nanos(plan(false, 0, 0), 1, 128));
    assertEquals(0, nanos(plan(true, MILLISECOND), 1, 128), "shapes do not tell");
  }

  @Test
  void patience_ofMoreThanCanBe_isTheMost() {
    ExpectedTime time = new ExpectedTime();
    time.seed(() -> nanos(usual(), Integer.MAX_VALUE, Integer.MAX_VALUE));
    Duration most = Duration.ofSeconds(30);
    assertTrue(nanos(usual(), Integer.MAX_VALUE, Integer.MAX_VALUE) > most.toNanos());
    assertEquals(most, time.patience(false, most));
  }
}
