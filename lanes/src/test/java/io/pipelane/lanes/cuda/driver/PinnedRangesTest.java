package io.pipelane.lanes.cuda.driver;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class PinnedRangesTest {
  private final MemorySegment memory = Arena.ofAuto().allocate(1000);
  private final PinnedRanges ranges = new PinnedRanges();

  @Test
  void contains_whatLiesWithinOneRange_andNothingElse() {
    MemorySegment middle = memory.asSlice(100, 200);
    ranges.add(middle);
    ranges.add(memory.asSlice(300, 100));
    assertTrue(ranges.contains(middle));
    assertTrue(ranges.contains(memory.asSlice(299, 1)));
    assertTrue(ranges.contains(memory.asSlice(300, 100)));
    assertFalse(ranges.contains(memory.asSlice(99, 10)));
    assertFalse(ranges.contains(memory.asSlice(250, 100)));
    assertFalse(ranges.contains(memory.asSlice(399, 2)));
    assertFalse(ranges.contains(memory.asSlice(500, 10)));
    ranges.remove(middle);
    assertFalse(ranges.contains(memory.asSlice(150, 1)));
    assertTrue(ranges.contains(memory.asSlice(350, 1)));
  }

  @Test
  void contains_memoryOfTheHeap_isFalse() {
    ranges.add(memory);
    assertFalse(ranges.contains(MemorySegment.ofArray(new byte[10])));
  }
}
