package io.pipelane.lanes.allocation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.EphemeralRegion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;

class TransferMemoryTest {
  private static final long BYTES = 1 << 20;

  private final TransferMemory memory =
      new TransferMemory(Arena.ofAuto().allocate(BYTES, EphemeralRegion.ALIGNMENT));

  @Test
  void take_moreThanThereIs_isNullUntilSomeComesBack() {
    MemorySegment first = Objects.requireNonNull(memory.take(BYTES - 1));
    assertNull(memory.take(1));
    memory.giveBack(first);
    MemorySegment second = Objects.requireNonNull(memory.take(BYTES));
    assertEquals(first.address(), second.address());
    assertNull(memory.take(BYTES + 1));
    memory.giveBack(second);
  }

  @Test
  void giveBack_whatIsNotLent_isRefused() {
    MemorySegment stretch = Objects.requireNonNull(memory.take(1000));
    memory.giveBack(stretch);
    assertThrows(IllegalArgumentException.class, () -> memory.giveBack(stretch));
  }

  @Test
  void giveBack_whatIsWithheld_isLentAgainOnceAllAreReleased() {
    MemorySegment before = Objects.requireNonNull(memory.take(BYTES / 2));
    memory.withhold();
    memory.withhold();
    memory.giveBack(before);
    MemorySegment meanwhile = Objects.requireNonNull(memory.take(BYTES / 2));
    assertTrue(before.address() != meanwhile.address());
    assertNull(memory.take(1));
    memory.giveBack(meanwhile);
    assertEquals(meanwhile, memory.take(BYTES / 2), "what is lent later is lent again at once");
    memory.release();
    assertNull(memory.take(1));
    memory.release();
    MemorySegment after = Objects.requireNonNull(memory.take(BYTES / 2));
    assertEquals(before.address(), after.address());
    memory.giveBack(after);
    memory.giveBack(meanwhile);
    memory.close();
  }

  @Test
  void close_whileAnythingIsLent_isRefused() {
    MemorySegment stretch = Objects.requireNonNull(memory.take(1000));
    assertThrows(IllegalStateException.class, memory::close);
    memory.giveBack(stretch);
    memory.close();
    assertNull(memory.take(1));
  }

  @Test
  void take_inAnyOrder_lendsAlignedStretchesThatNeverOverlap() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<MemorySegment> lent = new ArrayList<>();
    for (int step = 0; step < 5000; step++) {
      MemorySegment taken = random.nextBoolean() ? memory.take(1 + random.nextInt(100_000)) : null;
      if (taken != null) {
        String message = "seed " + seed + ", step " + step;
        assertEquals(0, taken.address() % EphemeralRegion.ALIGNMENT, message);
        for (MemorySegment other : lent) {
          assertTrue(taken.asOverlappingSlice(other).isEmpty(), message);
        }
        lent.add(taken);
      } else if (!lent.isEmpty()) {
        memory.giveBack(lent.remove(random.nextInt(lent.size())));
      }
    }
    lent.forEach(memory::giveBack);
    assertEquals(0, memory.lentBytes());
    assertNotNull(memory.take(BYTES), "seed " + seed);
  }
}
