package io.pipelane.lanes.cuda.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.cuda.execution.HeldAnswer.Output;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class AnswerComparisonTest {
  private static Map<String, Output> floats(float... values) {
    return answer(TensorType.FP32, values.length, MemorySegment.ofArray(values));
  }

  private static Map<String, Output> answer(TensorType type, long elements, MemorySegment data) {
    return Map.of("y", new Output(type, Shape.of(elements), data));
  }

  private static Optional<String> difference(
      Map<String, Output> expected, Map<String, Output> actual) {
    return AnswerComparison.difference(expected, actual);
  }

  @Test
  void difference_withinTheTolerance_isNone() {
    assertEquals(Optional.empty(), difference(floats(1, 2, 3), floats(1, 2, 3)));
    assertEquals(Optional.empty(), difference(floats(1, 2, 3), floats(1.001f, 2, 3)));
    assertEquals(Optional.empty(), difference(floats(1, Float.NaN), floats(1.0001f, Float.NaN)));
  }

  @Test
  void difference_beyondIt_namesTheOutput() {
    assertTrue(difference(floats(1, 2, 3), floats(1.1f, 2, 3)).orElseThrow().contains("\"y\""));
    assertTrue(difference(floats(1, 2), floats(1, Float.NaN)).isPresent());
    assertTrue(difference(floats(1, Float.POSITIVE_INFINITY), floats(1, 2)).isPresent());
    assertTrue(difference(floats(1, 2), floats(1, 2, 3)).isPresent());
    assertTrue(difference(floats(1, 2), Map.of()).isPresent());
  }

  @Test
  void difference_ofIntegers_isAnyBit() {
    Map<String, Output> one =
        answer(TensorType.INT64, 2, MemorySegment.ofArray(new long[] {1_000_000, 5}));
    Map<String, Output> other =
        answer(TensorType.INT64, 2, MemorySegment.ofArray(new long[] {1_000_001, 5}));
    assertEquals(Optional.empty(), difference(one, one));
    assertTrue(difference(one, other).isPresent());
  }

  @Test
  void difference_ofBfloat16_allowsTheLastBit() {
    assertEquals(Optional.empty(), difference(bfloats(0), bfloats(1)));
    assertTrue(difference(bfloats(0), bfloats(5)).isPresent());
  }

  /** Ones that are off by some of their last bits. */
  private static Map<String, Output> bfloats(int bits) {
    short one = (short) ((Float.floatToIntBits(1) >> 16) + bits);
    return answer(TensorType.BF16, 2, MemorySegment.ofArray(new short[] {one, one}));
  }
}
