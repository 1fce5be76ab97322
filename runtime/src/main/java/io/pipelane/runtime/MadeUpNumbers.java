package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.util.Random;

/** Elements that any model takes: normal random numbers, integers of 0 and 1. */
public final class MadeUpNumbers {
  private MadeUpNumbers() {}

  /** Fills a tensor whose memory is zero; of types without numbers here it stays so. */
  public static void fill(TensorType type, MemorySegment data, Random random) {
    int width = type.byteWidth();
    for (long i = 0; width > 0 && i < data.byteSize() / width; i++) {
      switch (type) {
        case FP32 -> data.setAtIndex(JAVA_FLOAT, i, (float) random.nextGaussian());
        case FP64 -> data.setAtIndex(JAVA_DOUBLE, i, random.nextGaussian());
        case FP16 ->
            data.setAtIndex(JAVA_SHORT, i, Float.floatToFloat16((float) random.nextGaussian()));
        case BF16 -> data.setAtIndex(JAVA_SHORT, i, bfloat16((float) random.nextGaussian()));
        case BYTES -> {}
        case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL, UINT32, UINT64 ->
            data.set(JAVA_BYTE, i * width, (byte) random.nextInt(2));
      }
    }
  }

  /** The upper half of a number, which is one of this type. */
  private static short bfloat16(float number) {
    return (short) (Float.floatToRawIntBits(number) >>> Short.SIZE);
  }
}
