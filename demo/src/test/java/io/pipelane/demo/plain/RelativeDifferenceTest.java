package io.pipelane.demo.plain;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.demo.protocol.Tensor;
import java.util.List;
import org.junit.jupiter.api.Test;

class RelativeDifferenceTest {
  private static final double NONE_TO_COMPARE = Double.POSITIVE_INFINITY;

  private final Tensor reference = Tensor.of("y", new float[] {3, 4}, 2);

  @Test
  void of_sameAnswer_isZero() {
    assertEquals(0, RelativeDifference.of(List.of(reference), List.of(reference)));
    Tensor zero = Tensor.of("y", new float[2], 2);
    assertEquals(0, RelativeDifference.of(List.of(zero), List.of(zero)));
  }

  @Test
  void of_otherValues_isRelativeToTheReference() {
    assertEquals(0.2, to(Tensor.of("y", new float[] {3, 5}, 2)), 1e-12);
    Tensor second = Tensor.of("z", new float[] {0}, 1);
    assertEquals(
        0.2,
        RelativeDifference.of(
            List.of(second, Tensor.of("y", new float[] {4, 4}, 2)), List.of(reference, second)),
        1e-12);
  }

  @Test
  void of_whatCannotBeCompared_isInfinite() {
    assertEquals(NONE_TO_COMPARE, to(Tensor.of("x", new float[] {3, 4}, 2)));
    assertEquals(NONE_TO_COMPARE, to(Tensor.of("y", new float[] {3, 4}, 1, 2)));
    assertEquals(NONE_TO_COMPARE, to(Tensor.of("y", new long[] {3, 4}, 2)));
    assertEquals(NONE_TO_COMPARE, to(Tensor.of("y", new float[] {3, Float.NaN}, 2)));
    assertEquals(NONE_TO_COMPARE, RelativeDifference.of(List.of(), List.of(reference)));
  }

  private double to(Tensor answer) {
    return RelativeDifference.of(List.of(answer), List.of(reference));
  }
}
