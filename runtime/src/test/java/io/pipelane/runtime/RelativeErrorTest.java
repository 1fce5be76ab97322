package io.pipelane.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class RelativeErrorTest {
  private static double error(TensorType type, short[] a, short[] b) {
    return RelativeError.of(type, MemorySegment.ofArray(a), MemorySegment.ofArray(b));
  }

  private static short bfloat16(float number) {
    return (short) (Float.floatToIntBits(number) >> 16);
  }

  @Test
  void error_ofHalfPrecision_isRelative() {
    short[] a = {Float.floatToFloat16(1), Float.floatToFloat16(2)};
    short[] b = {Float.floatToFloat16(1.5f), Float.floatToFloat16(2)};
    assertEquals(0.5 / Math.sqrt(5), error(TensorType.FP16, a, b), 1e-3);
  }

  @Test
  void error_ofBfloat16_isWhatItWouldBeOfHalfPrecision() {
    short[] a = {bfloat16(1), 0};
    short[] b = {bfloat16(2), 0};
    assertEquals(1. / 8, error(TensorType.BF16, a, b), 1e-6);
    assertEquals(0, error(TensorType.BF16, a, a));
  }

  @Test
  void error_ofIntegers_isNoneOrInfinite() {
    short[] a = {1, 2};
    short[] b = {1, 3};
    assertEquals(0, error(TensorType.INT16, a, a));
    assertEquals(Double.POSITIVE_INFINITY, error(TensorType.INT16, a, b));
  }
}
