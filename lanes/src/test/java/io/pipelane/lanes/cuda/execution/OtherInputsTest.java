package io.pipelane.lanes.cuda.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.junit.jupiter.api.Test;

class OtherInputsTest {
  private final Arena arena = Arena.ofAuto();

  private InputTensor floats(float... values) {
    return input(
        "f",
        TensorType.FP32,
        values.length,
        arena.allocateFrom(ValueLayout.JAVA_FLOAT_UNALIGNED, values));
  }

  private InputTensor longs(long... values) {
    return input(
        "l",
        TensorType.INT64,
        values.length,
        arena.allocateFrom(ValueLayout.JAVA_LONG_UNALIGNED, values));
  }

  private static InputTensor input(
      String name, TensorType type, long elements, MemorySegment data) {
    return new InputTensor(name, type, Shape.of(elements), data);
  }

  private List<InputTensor> other(InputTensor... inputs) {
    return OtherInputs.of(List.of(inputs), arena).orElseThrow();
  }

  @Test
  void of_elements_areTheSameInTheOppositeOrder() {
    List<InputTensor> others = other(longs(101, 7, 2, 0), floats(1, 2, 3));
    assertArrayEquals(
        new long[] {0, 2, 7, 101}, others.getFirst().data().toArray(ValueLayout.JAVA_LONG));
    assertArrayEquals(
        new float[] {3, 2, 1}, others.getLast().data().toArray(ValueLayout.JAVA_FLOAT));
    assertEquals(Shape.of(4), others.getFirst().shape());
  }

  @Test
  void of_floatsThatReadTheSameFromBothEnds_changeTheirSign() {
    List<InputTensor> others = other(floats(0, 2.5f, 0));
    assertArrayEquals(
        new float[] {-0f, -2.5f, -0f}, others.getFirst().data().toArray(ValueLayout.JAVA_FLOAT));
  }

  @Test
  void of_oneInputThatDiffers_isEnough() {
    assertEquals(2, other(longs(1, 1), longs(1, 2)).size());
  }

  @Test
  void of_repeatedIntegers_hasNoOther() {
    assertTrue(OtherInputs.of(List.of(longs(1, 1, 1)), arena).isEmpty());
    assertTrue(OtherInputs.of(List.of(), arena).isEmpty());
  }
}
