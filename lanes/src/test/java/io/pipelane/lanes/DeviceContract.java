package io.pipelane.lanes;

import static io.pipelane.lanes.EphemeralRegion.ALIGNMENT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.DeviceStates.State;
import io.pipelane.lanes.PersistentMemory.Account;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.LongPredicate;
import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.Test;

/**
 * The suite that every device passes: here ephemeral regions, persistent memory and states, copies
 * and events in {@link DeviceCopyContract}, pages and ranges in {@link DevicePageContract}.
 */
public abstract class DeviceContract extends DeviceCopyContract {
  private static final long MIB = 1 << 20;

  @Test
  void ephemeral_withoutLimit_hasNoRoom() {
    EphemeralRegion region = device.ephemeral(MIB);
    assertEquals(MIB, region.maximumBytes());
    assertEquals(0, region.limitBytes());
    assertEquals(0, region.allocate(1));
    assertThrows(IllegalArgumentException.class, () -> device.ephemeral(0));
  }

  @Test
  void ephemeral_toItsLimit_allocatesAndThenAnswersZero() {
    EphemeralRegion region = region(MIB, 1024);
    long first = region.allocate(1000);
    assertEquals(region.address(), first);
    assertEquals(0, first % ALIGNMENT);
    assertEquals(1024, region.usedBytes());
    assertEquals(0, region.allocate(1));
    region.limit(1024 + ALIGNMENT);
    assertEquals(first + 1024, region.allocate(0), "zero bytes have an address too");
    assertEquals(0, region.allocate(1));
    assertEquals(0, region.allocate(Long.MAX_VALUE));
    assertThrows(IllegalArgumentException.class, () -> region.allocate(-1));
    assertEquals(1024 + ALIGNMENT, region.usedBytes());
  }

  @Test
  void ephemeral_limitBadly_throwsAndChangesNothing() {
    EphemeralRegion region = region(MIB, MIB);
    long low = region.allocate(ALIGNMENT);
    long high = region.allocate(ALIGNMENT);
    region.free(low);
    assertThrows(IllegalArgumentException.class, () -> region.limit(MIB + 1));
    assertThrows(IllegalArgumentException.class, () -> region.limit(-1));
    assertThrows(IllegalArgumentException.class, () -> region.limit(2 * ALIGNMENT - 1));
    assertEquals(MIB, region.limitBytes());
    region.limit(2 * ALIGNMENT);
    region.free(high);
    region.limit(0);
    assertEquals(0, region.allocate(1));
    region.limit(MIB);
    assertEquals(region.address(), region.allocate(MIB));
  }

  @Test
  void ephemeral_free_coalescesAndReusesTheBestFit() {
    EphemeralRegion region = region(MIB, MIB);
    long a = region.allocate(4 * ALIGNMENT);
    long b = region.allocate(8 * ALIGNMENT);
    long c = region.allocate(2 * ALIGNMENT);
    long d = region.allocate(ALIGNMENT);
    region.free(a);
    region.free(c);
    assertEquals(c, region.allocate(ALIGNMENT + 1));
    region.free(c);
    region.free(b);
    assertEquals(a, region.allocate(14 * ALIGNMENT));
    region.free(a);
    region.free(d);
    assertEquals(a, region.allocate(MIB));
  }

  @Test
  void ephemeral_freeBadly_throwsAndChangesNothing() {
    EphemeralRegion region = region(MIB, MIB);
    long address = region.allocate(2 * ALIGNMENT);
    assertThrows(IllegalArgumentException.class, () -> region.free(address + ALIGNMENT));
    assertThrows(IllegalArgumentException.class, () -> region.free(0));
    region.free(address);
    assertThrows(IllegalArgumentException.class, () -> region.free(address));
    assertEquals(0, region.usedBytes());
  }

  @Test
  void ephemeral_peak_isTheHighestEndSinceReset() {
    EphemeralRegion region = region(MIB, MIB);
    long low = region.allocate(ALIGNMENT);
    region.free(region.allocate(4096));
    assertEquals(ALIGNMENT + 4096, region.peakBytes());
    region.resetPeak();
    assertEquals(ALIGNMENT, region.peakBytes());
    region.free(low);
    region.resetPeak();
    assertEquals(0, region.peakBytes());
  }

  @Test
  void ephemeral_sameSequence_givesSameAddresses() {
    assertEquals(placements(7), placements(7));
    assertNotEquals(placements(7), placements(8));
  }

  @Test
  void persistent_accounts_chargeTheirOwners() {
    PersistentMemory memory = device.persistent();
    Account one = memory.open("one", 2 * MIB);
    Account two = memory.open("two", ALIGNMENT + 1);
    long small = one.allocate(ALIGNMENT + 1);
    long large = one.allocate(MIB);
    long other = two.allocate(ALIGNMENT);
    assertEquals(0, small % ALIGNMENT);
    assertEquals(0, large % ALIGNMENT);
    assertEquals(2 * ALIGNMENT + MIB, one.usedBytes());
    assertEquals(ALIGNMENT, two.usedBytes());
    assertEquals(3 * ALIGNMENT + MIB, memory.usedBytes());
    assertTrue(memory.free(large));
    assertFalse(memory.free(large));
    assertFalse(memory.free(12345));
    assertEquals(2 * ALIGNMENT, one.usedBytes());
    one.close();
    one.close();
    assertEquals(ALIGNMENT, memory.usedBytes());
    assertFalse(memory.free(small));
    assertThrows(IllegalStateException.class, () -> one.allocate(1));
    assertTrue(memory.free(other));
    assertEquals(0, memory.usedBytes());
  }

  @Test
  void persistent_limit_holdsAndMoves() {
    Account account = device.persistent().open("one", 2 * ALIGNMENT);
    long address = account.allocate(2 * ALIGNMENT);
    assertEquals(0, account.allocate(1));
    account.limit(3 * ALIGNMENT);
    assertNotEquals(0, account.allocate(1));
    account.limit(0);
    assertEquals(0, account.allocate(1));
    assertEquals(3 * ALIGNMENT, account.usedBytes());
    assertTrue(device.persistent().free(address));
    assertEquals(0, account.allocate(0));
    assertThrows(IllegalArgumentException.class, () -> account.limit(-1));
    assertThrows(IllegalArgumentException.class, () -> account.allocate(-1));
    assertEquals(0, account.allocate(Long.MAX_VALUE));
  }

  @Test
  void ephemeral_fromThreeThreads_staysWhole() throws Exception {
    EphemeralRegion region = region(64 * MIB, 64 * MIB);
    hammer(
        region::allocate,
        address -> {
          region.free(address);
          return true;
        });
    assertEquals(0, region.usedBytes());
    assertEquals(region.address(), region.allocate(64 * MIB));
  }

  @Test
  void persistent_fromThreeThreads_staysWhole() throws Exception {
    Account account = device.persistent().open("three threads", 64 * MIB);
    hammer(account::allocate, device.persistent()::free);
    assertEquals(0, account.usedBytes());
    assertEquals(0, device.persistent().usedBytes());
  }

  @Test
  void states_areZeroAtFirstAndKeepWhatIsWritten() {
    Random random = new Random(1);
    try (Arena arena = Arena.ofConfined()) {
      for (int round = 0; round < 2; round++) {
        List<State> states = new ArrayList<>();
        List<MemorySegment> written = new ArrayList<>();
        for (long bytes : new long[] {4, 100, 5 * MIB + 3, 0, 1 * MIB}) {
          State state = device.states().take(bytes);
          assertEquals(bytes, state.memory().byteSize());
          assertEquals(-1, read(state, arena).mismatch(arena.allocate(bytes)));
          byte[] content = new byte[(int) bytes];
          random.nextBytes(content);
          MemorySegment host = arena.allocate(bytes, 64).copyFrom(MemorySegment.ofArray(content));
          state.write(host);
          states.add(state);
          written.add(host);
        }
        for (int i = 0; i < states.size(); i++) {
          assertEquals(-1, read(states.get(i), arena).mismatch(written.get(i)), "state " + i);
        }
        states.forEach(State::close);
      }
    }
  }

  private static MemorySegment read(State state, Arena arena) {
    MemorySegment host = arena.allocate(state.memory().byteSize(), 64);
    state.read(host);
    return host;
  }

  @Test
  void states_areFoundByTheirPlace_andTouchedByTheHostOnTheHostAlone() {
    try (State state = device.states().take(MIB)) {
      assertTrue(device.states().offsetOf(MemorySegment.ofArray(new byte[1])).isEmpty());
      long offset = device.states().offsetOf(state.memory()).orElseThrow();
      MemorySegment part = state.memory().asSlice(MIB - 1, 1);
      assertEquals(offset + MIB - 1, device.states().offsetOf(part).orElseThrow());
      if (device.states().areOnDevice()) {
        assertThrows(
            IllegalStateException.class, () -> state.memory().get(ValueLayout.JAVA_BYTE, 0));
      } else {
        assertEquals(0, state.memory().get(ValueLayout.JAVA_BYTE, 0));
      }
    }
  }

  @Test
  void states_fromThreeThreads_staysWhole() throws Exception {
    Map<Long, State> taken = new ConcurrentHashMap<>();
    hammer(
        bytes -> {
          State state = device.states().take(bytes);
          assertEquals(null, taken.put(state.memory().address(), state));
          return state.memory().address();
        },
        address -> {
          Objects.requireNonNull(taken.remove(address)).close();
          return true;
        },
        300);
    assertTrue(taken.isEmpty());
  }

  private static void hammer(LongUnaryOperator allocate, LongPredicate free) throws Exception {
    hammer(allocate, free, 2000);
  }

  private static void hammer(LongUnaryOperator allocate, LongPredicate free, int steps)
      throws Exception {
    CyclicBarrier start = new CyclicBarrier(3);
    try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        SplittableRandom random = new SplittableRandom(i);
        all.add(
            threads.submit(
                () -> {
                  start.await();
                  List<Long> mine = new ArrayList<>();
                  for (int step = 0; step < steps; step++) {
                    if (mine.size() < 20 && random.nextBoolean()) {
                      mine.add(allocate.applyAsLong(random.nextInt(300_000)));
                      assertNotEquals(0, mine.getLast());
                    } else if (!mine.isEmpty()) {
                      assertTrue(free.test(mine.remove(random.nextInt(mine.size()))));
                    }
                  }
                  mine.forEach(address -> assertTrue(free.test(address)));
                  return true;
                }));
      }
      for (Future<?> one : all) {
        one.get();
      }
    }
  }

  private List<Long> placements(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<Long> placements = new ArrayList<>();
    List<Long> alive = new ArrayList<>();
    try (EphemeralRegion region = region(MIB, MIB)) {
      for (int step = 0; step < 500; step++) {
        if (alive.isEmpty() || random.nextInt(5) < 3) {
          long address = region.allocate(random.nextInt(20_000));
          if (address != 0) {
            alive.add(address);
            placements.add(address - region.address());
          }
        } else {
          region.free(alive.remove(random.nextInt(alive.size())));
        }
      }
    }
    return placements;
  }

  private EphemeralRegion region(long maximum, long limit) {
    EphemeralRegion region = device.ephemeral(maximum);
    region.limit(limit);
    return region;
  }
}
