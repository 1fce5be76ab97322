package io.pipelane.lanes.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.cpu.RecycledMemory.Taken;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RecycledMemoryTest {
  private static final long MIB = 1 << 20;
  private static final long BOUND = 64 * MIB;

  private final Set<Long> pinned = new HashSet<>();
  private final RecycledMemory pool =
      new RecycledMemory(
          memory -> {
            assertTrue(pinned.add(memory.address()), "pinned twice");
            return () -> pinned.remove(memory.address());
          });

  RecycledMemoryTest() {
    pool.keepWithin(BOUND);
  }

  @AfterEach
  void nothingIsLeft() {
    assertEquals(0, pool.takenBytes());
    pool.keepWithin(0);
    assertEquals(0, pool.freeBytes());
    assertEquals(Set.of(), pinned);
  }

  /** Memory that is filled with a number and pinned. */
  private Taken take(long bytes, int content) {
    Taken taken = pool.take(bytes);
    taken.memory().fill((byte) content);
    taken.pin();
    return taken;
  }

  private static boolean isAll(MemorySegment memory, int content) {
    byte[] bytes = memory.toArray(ValueLayout.JAVA_BYTE);
    for (byte each : bytes) {
      if (each != content) {
        return false;
      }
    }
    return true;
  }

  @Test
  void take_theSameSizeAgain_isTheSameMemoryStillPinned() {
    Taken first = take(5 * MIB + 100, 7);
    MemorySegment former = first.memory();
    first.close();
    first.close();
    assertEquals(Set.of(former.address()), pinned);
    Taken second = pool.take(5 * MIB + 200);
    assertEquals(former.address(), second.memory().address());
    assertEquals(5 * MIB + 200, second.memory().byteSize());
    assertEquals(Set.of(former.address()), pinned);
    second.pin();
    assertEquals(0, pool.freeBytes());
    assertThrows(
        IllegalStateException.class, () -> former.get(ValueLayout.JAVA_BYTE, 0), "its last user's");
    second.close();
  }

  @Test
  void take_anotherSize_isMadeOfWhatIsFree() {
    Taken one = take(8 * MIB + 4096, 7);
    Taken two = take(8 * MIB, 7);
    one.close();
    two.close();
    assertEquals(16 * MIB + 4096, pool.freeBytes());
    Taken all = pool.take(14 * MIB + 100);
    assertTrue(isAll(all.memory().asSlice(0, 14 * MIB), 7), "none of it is new");
    assertTrue(isAll(all.memory().asSlice(14 * MIB), 0), "the ragged end is");
    assertEquals(2 * MIB, pool.freeBytes(), "nothing is in two places");
    assertEquals(Set.of(), pinned, "pinned memory does not move");
    all.memory().fill((byte) 8);
    Taken rest = pool.take(2 * MIB);
    assertTrue(isAll(rest.memory(), 7));
    assertEquals(0, pool.freeBytes());
    rest.close();
    all.close();
  }

  @Test
  void take_moreThanIsFree_isMadeUpWithNewMemory() {
    take(4 * MIB, 7).close();
    Taken more = pool.take(10 * MIB);
    assertTrue(isAll(more.memory().asSlice(0, 4 * MIB), 7));
    assertTrue(isAll(more.memory().asSlice(4 * MIB), 0));
    assertEquals(10 * MIB, pool.takenBytes());
    assertEquals(0, pool.freeBytes());
    more.close();
  }

  @Test
  void close_beyondTheBound_givesTheExcessBack() {
    Taken first = take(48 * MIB, 7);
    Taken second = take(40 * MIB, 8);
    assertEquals(88 * MIB, pool.takenBytes(), "whoever takes it knows what he does");
    first.close();
    assertEquals(24 * MIB, pool.freeBytes());
    Taken again = pool.take(24 * MIB);
    assertTrue(isAll(again.memory(), 7));
    assertTrue(isAll(second.memory(), 8));
    again.close();
    second.close();
    assertEquals(BOUND, pool.freeBytes());
  }

  @Test
  void keepWithin_less_givesBackTheLongestFreeAtOnce() {
    take(8 * MIB, 1).close();
    Taken other = take(16 * MIB, 2);
    other.close();
    pool.keepWithin(13 * MIB);
    assertEquals(12 * MIB, pool.freeBytes());
    Taken kept = pool.take(12 * MIB);
    assertTrue(isAll(kept.memory(), 2));
    kept.close();
  }

  @Test
  void prepare_isDoneWhenThereIsEnoughOrTheBoundIsReached() {
    assertTrue(pool.prepare(33 * MIB));
    assertEquals(32 * MIB, pool.freeBytes());
    assertTrue(pool.prepare(33 * MIB));
    assertFalse(pool.prepare(33 * MIB));
    assertEquals(BOUND, pool.freeBytes());
    Taken taken = pool.take(33 * MIB);
    assertEquals(30 * MIB, pool.freeBytes(), "the end of 1 MiB is new, and is within the bound");
    assertFalse(pool.prepare(64 * MIB));
    taken.close();
  }

  private record User(Taken taken, byte content) {}

  /** Users of all sizes come and go, and each finds at its end what it wrote. */
  @Test
  void take_manyTimes_isNeverTwoUsersMemory() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<User> users = new ArrayList<>();
    for (int i = 0; i < 400; i++) {
      if (users.size() > 4 || (!users.isEmpty() && random.nextBoolean())) {
        User leaving = users.remove(random.nextInt(users.size()));
        assertTrue(isAll(leaving.taken.memory(), leaving.content), "seed " + seed);
        leaving.taken.close();
      } else {
        long bytes = random.nextBoolean() ? 6 * MIB : 1 + random.nextLong(20 * MIB);
        users.add(new User(take(bytes, (byte) i), (byte) i));
      }
      if (random.nextInt(50) == 0) {
        pool.keepWithin(random.nextLong(BOUND));
      }
      long most = Math.max(BOUND, pool.takenBytes());
      assertTrue(pool.totalBytes() <= most, "seed " + seed);
    }
    users.forEach(user -> user.taken.close());
  }
}
