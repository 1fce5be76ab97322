package io.pipelane.modelstore.importing;

import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.runtime.MadeUpNumbers;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class OutputsTest {
  private static final int COUNT = 1000;

  /** What is allowed of answers of a GPU. */
  private static final double TOLERANCE = 1e-3;

  private static MemorySegment madeUp() {
    MemorySegment numbers = MemorySegment.ofArray(new short[COUNT]);
    MadeUpNumbers.fill(TensorType.BF16, numbers, new Random(1));
    return numbers;
  }

  private static short number(MemorySegment numbers, long place) {
    return numbers.getAtIndex(JAVA_SHORT_UNALIGNED, place);
  }

  /** Moves the last bits of all numbers. */
  private static MemorySegment off(MemorySegment numbers, int bits) {
    MemorySegment moved = MemorySegment.ofArray(new short[COUNT]);
    for (long i = 0; i < COUNT; i++) {
      moved.setAtIndex(JAVA_SHORT_UNALIGNED, i, (short) (number(numbers, i) + bits));
    }
    return moved;
  }

  @Test
  void madeUpBfloat16_isOfManyNumbers() {
    MemorySegment numbers = madeUp();
    long different = LongStream.range(0, COUNT).map(i -> number(numbers, i)).distinct().count();
    assertTrue(different > COUNT / 2, different + " of " + COUNT);
  }

  @Test
  void difference_ofBfloat16_allowsTheLastBit() {
    MemorySegment numbers = madeUp();
    assertEquals(0, Outputs.difference(TensorType.BF16, numbers, off(numbers, 0)));
    double ofOneBit = Outputs.difference(TensorType.BF16, numbers, off(numbers, 1));
    assertTrue(ofOneBit > 0 && ofOneBit < TOLERANCE, ofOneBit + " is allowed");
    double ofThree = Outputs.difference(TensorType.BF16, numbers, off(numbers, 3));
    assertTrue(ofThree > TOLERANCE, ofThree + " is not");
  }
}
