package io.pipelane.lanes.execution;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.EphemeralRegion;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LanesTest extends LanesFixture {
  @Test
  void enter_twoThatFit_runSideBySide() {
    try (LaneLease first = lanes.enter(4 * MIB);
        LaneLease second = lanes.enter(6 * MIB)) {
      assertNotEquals(first.region().address(), second.region().address());
      assertEquals(4 * MIB, first.region().limitBytes());
      assertEquals(6 * MIB, second.region().limitBytes());
      assertEquals(0, lanes.freeBytes());
      lanes.checkSafety();
    }
  }

  @Test
  void enter_theMemoryCannotBeHad_leavesTheLaneAtOnce() {
    AtomicInteger calls = new AtomicInteger();
    Device failing = limited(() -> calls.incrementAndGet() == 4);
    Lanes some = new Lanes(failing, new DeviceMemory(device.persistent()), CAPACITY, 2, 0);
    try (LaneLease _ = some.enter(2 * MIB)) {
      assertEquals(
          Status.INSUFFICIENT_MEMORY,
          assertThrows(StatusException.class, () -> some.enter(3 * MIB)).status());
      try (LaneLease second = some.enter(3 * MIB)) {
        assertEquals(3 * MIB, second.region().limitBytes());
      }
    }
    assertEquals(CAPACITY, some.freeBytes());
    some.close();
  }

  /** The reserve's owner asks lanes under its own lock, which giving back takes. */
  @Test
  void tryEnter_theMemoryCannotBeHad_givesBackWhatIsSpareWithoutTheLock() {
    AtomicBoolean fails = new AtomicBoolean();
    Device failing = limited(fails::get);
    Lanes some = new Lanes(failing, new DeviceMemory(device.persistent()), 6 * MIB, 3, 4 * MIB);
    AtomicLong givenBack = new AtomicLong();
    some.borrowed().from(new AskingReserve(some, givenBack));
    assertTrue(some.tryReservePersistent(2 * MIB));
    LaneLease first;
    try (BorrowedSpace.Borrowing _ = some.borrowed().begin()) {
      assertTrue(some.borrowed().borrow(6 * MIB));
      first = some.enter(6 * MIB);
    }
    some.releasePersistent(2 * MIB);
    fails.set(true);
    StatusException refused = assertThrows(StatusException.class, () -> some.tryEnter(MIB));
    assertEquals(Status.INSUFFICIENT_MEMORY, refused.status());
    assertEquals(2 * MIB, givenBack.get());
    fails.set(false);
    first.close();
    some.close();
  }

  /** Lends all that is asked for; what comes back has another thread ask the lanes. */
  private record AskingReserve(Lanes lanes, AtomicLong givenBack) implements Reserve {
    @Override
    public long unitBytes() {
      return MIB;
    }

    @Override
    public long lend(long bytes) {
      return Math.ceilDiv(bytes, MIB) * MIB;
    }

    @Override
    public void giveBack(long bytes) {
      long _ = CompletableFuture.supplyAsync(lanes::freeBytes).orTimeout(5, SECONDS).join();
      givenBack.addAndGet(bytes);
    }
  }

  @Test
  void grow_byMoreThanCanBeCounted_changesNothing() {
    try (LaneLease lane = lanes.enter(MIB)) {
      long address = lane.region().allocate(256);
      assertFalse(lane.grow(Long.MAX_VALUE - 255));
      assertEquals(MIB, lane.region().limitBytes());
      lane.region().free(address);
    }
  }

  @Test
  void grow_laneOfAShareByMoreThanCanBeCounted_changesNothing() {
    Device divided =
        proxy(
            Device.class,
            (_, arguments) -> device.ephemeral((long) Objects.requireNonNull(arguments)[0]));
    try (ShareLane share = new ShareLane(divided, memory, CAPACITY, 10)) {
      LaneLease lane = share.enter(MIB);
      long address = lane.region().allocate(256);
      assertFalse(lane.grow(Long.MAX_VALUE - 255));
      assertEquals(MIB, share.heldBytes());
      lane.region().free(address);
    }
  }

  /** The device, but that raising a region's limit fails when that is said. */
  private Device limited(BooleanSupplier fails) {
    return proxy(
        Device.class,
        (method, arguments) -> {
          Object result = method.invoke(device, arguments);
          return result instanceof EphemeralRegion region
              ? proxy(
                  EphemeralRegion.class,
                  (called, values) -> {
                    if (called.getName().equals("limit") && fails.getAsBoolean()) {
                      throw new StatusException(Status.INSUFFICIENT_MEMORY, "injected");
                    }
                    return called.invoke(region, values);
                  })
              : result;
        });
  }

  private interface Called {
    @Nullable Object with(Method method, Object @Nullable [] arguments) throws Exception;
  }

  private static <T> T proxy(Class<T> type, Called called) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (_, method, arguments) -> called.with(method, arguments)));
  }

  @Test
  void hasRoom_saysWhetherAnotherLaneCouldBeOpenedNow() {
    assertTrue(lanes.hasRoom(CAPACITY));
    assertFalse(lanes.hasRoom(CAPACITY + 1));
    try (LaneLease _ = lanes.enter(6 * MIB)) {
      assertTrue(lanes.hasRoom(4 * MIB));
      assertFalse(lanes.hasRoom(5 * MIB));
      try (LaneLease _ = lanes.enter(MIB)) {
        assertFalse(lanes.hasRoom(0), "no more lanes");
      }
    }
  }

  @Test
  void tryEnter_takesALaneThatIsFreeNowAndDoesNotLetItGrow() {
    try (@Nullable LaneLease lane = lanes.tryEnter(4 * MIB)) {
      assertNotNull(lane);
      assertEquals(4 * MIB, lane.region().limitBytes());
      assertFalse(lane.grow(5 * MIB));
      assertNull(lanes.tryEnter(7 * MIB), "there is no room for it");
      try (@Nullable LaneLease other = lanes.tryEnter(6 * MIB)) {
        assertNotNull(other);
        assertNull(lanes.tryEnter(0), "no more lanes");
      }
    }
  }

  /** An event loop must not wait while somebody has the lock and maps memory under it. */
  @Test
  void enterAtOnce_somebodyHasTheLock_waitsNeitherToEnterNorToLeave() throws Exception {
    AtomicBoolean blocks = new AtomicBoolean();
    CountDownLatch mapping = new CountDownLatch(1);
    CountDownLatch mapped = new CountDownLatch(1);
    Device slow = limited(() -> blocks.get() && waitsFor(mapped, mapping));
    Lanes some = new Lanes(slow, new DeviceMemory(device.persistent()), CAPACITY, 3, 0);
    List<Runnable> beside = new ArrayList<>();
    LaneLease lane = Objects.requireNonNull(some.enterAtOnce(MIB, false, beside::add));
    assertFalse(lane.grow(2 * MIB));
    assertNull(some.enterAtOnce(CAPACITY, false, beside::add), "there is no room for it");
    blocks.set(true);
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Future<LaneLease> other = threads.submit(() -> some.enter(2 * MIB));
      mapping.await();
      assertNull(some.enterAtOnce(MIB, false, beside::add));
      lane.close();
      mapped.countDown();
      other.get().close();
    }
    assertEquals(CAPACITY - MIB, some.freeBytes());
    assertEquals(1, beside.size());
    beside.getFirst().run();
    assertEquals(CAPACITY, some.freeBytes());
    some.close();
  }

  /** A lane for who waits may have others give memory back. */
  @Test
  void enterAtOnce_somebodyWaitsForALane_anotherThreadLeaves() throws Exception {
    List<Runnable> beside = new ArrayList<>();
    LaneLease lane = Objects.requireNonNull(lanes.enterAtOnce(2 * MIB, true, beside::add));
    LaneLease second = lanes.enter(4 * MIB);
    CountDownLatch waits = new CountDownLatch(1);
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Future<?> other =
          threads.submit(() -> lanes.enter(9 * MIB, false, Set.of(), waits::countDown).close());
      waits.await();
      long free = lanes.freeBytes(); // Under the lock, which it waits without.
      lane.close();
      int left = beside.size();
      beside.forEach(Runnable::run);
      second.close();
      other.get();
      assertEquals(4 * MIB, free);
      assertEquals(1, left);
    }
  }

  /** Says that it waits; whether that is in vain. */
  private static boolean waitsFor(CountDownLatch latch, CountDownLatch waiting) {
    waiting.countDown();
    try {
      latch.await();
      return false;
    } catch (InterruptedException e) {
      return true;
    }
  }

  /** To give memory back takes time. */
  @Test
  void enterAtOnce_parkedLaneWouldHaveToGiveMemoryBack_leavesItWhatItHas() {
    try (LaneLease _ = lanes.enter(4 * MIB);
        LaneLease _ = lanes.enter(6 * MIB)) {}
    assertNull(lanes.enterAtOnce(7 * MIB, false, Runnable::run));
    assertEquals(10 * MIB, lanes.laneBytes());
    try (LaneLease lane =
        Objects.requireNonNull(lanes.enterAtOnce(5 * MIB, false, Runnable::run))) {
      assertEquals(6 * MIB, lane.region().limitBytes());
    }
  }

  /** What is left beyond a step's need is no reason for its state to have less. */
  @Test
  void enter_exactly_hasNoMoreThanItNeeds() {
    try (LaneLease _ = lanes.enter(MIB);
        LaneLease _ = lanes.enter(8 * MIB)) {}
    try (LaneLease lane = lanes.enter(2 * MIB, true, Set.of(), () -> {})) {
      assertEquals(2 * MIB, lane.region().limitBytes());
      assertEquals(2 * MIB, lane.neededBytes());
      lane.region().free(lane.region().allocate(MIB / 2));
      assertTrue(lanes.tryReservePersistent(CAPACITY - 2 * MIB));
      lanes.releasePersistent(CAPACITY - 2 * MIB);
    }
  }

  /** Who waits for a lane is told why; the caller, an event loop, leaves that to the queue. */
  @Test
  void enterAtOnce_theMemoryCannotBeHad_leavesTheLaneAndSaysNothing() {
    AtomicBoolean fails = new AtomicBoolean(false);
    Lanes some =
        new Lanes(limited(fails::get), new DeviceMemory(device.persistent()), CAPACITY, 2, 0);
    List<Runnable> beside = new ArrayList<>();
    fails.set(true);
    assertNull(some.enterAtOnce(MIB, false, beside::add));
    assertThrows(StatusException.class, () -> some.enter(MIB));
    fails.set(false);
    beside.forEach(Runnable::run);
    assertEquals(CAPACITY, some.freeBytes());
    some.close();
  }

  @Test
  void enter_moreThanThereIs_isRefusedWithBothNumbers() {
    StatusException error =
        assertThrows(StatusException.class, () -> lanes.enter(CAPACITY + 1).close());
    assertEquals(Status.INSUFFICIENT_MEMORY, error.status());
    assertTrue(error.toString().contains("" + CAPACITY), error.toString());
    assertTrue(error.toString().contains("" + (CAPACITY + 1)), error.toString());
    lanes.enter(CAPACITY).close();
  }

  @Test
  void grow_whileMemoryAllows_raisesTheLimitAndThenRefuses() {
    try (LaneLease first = lanes.enter(MIB);
        LaneLease second = lanes.enter(7 * MIB)) {
      assertTrue(first.grow(64));
      assertEquals(2 * MIB, first.region().limitBytes());
      long all = first.region().allocate(2 * MIB);
      assertFalse(first.grow(MIB + 1), "one is left");
      assertTrue(first.grow(MIB - 7), "less than the usual step is had too");
      assertFalse(second.grow(MIB));
      lanes.checkSafety();
      first.region().free(all);
    }
    lanes.checkSafety();
  }

  @Test
  void leave_regionStaysWarmUntilItsMemoryIsWanted() {
    lanes.enter(6 * MIB).close();
    assertEquals(6 * MIB, lanes.laneBytes());
    assertEquals(CAPACITY, lanes.freeBytes(), "what is parked is free for anybody");
    try (LaneLease again = lanes.enter(MIB)) {
      assertEquals(6 * MIB, again.region().limitBytes(), "what was touched is used again");
    }
    try (LaneLease large = lanes.enter(3 * MIB);
        LaneLease other = lanes.enter(4 * MIB)) {
      assertTrue(large.region().limitBytes() + other.region().limitBytes() <= CAPACITY);
      lanes.checkSafety();
    }
    lanes.checkSafety();
  }

  @Test
  void reservePersistent_trimsParkedRegionsButNoOpenLane() {
    LaneLease open = lanes.enter(2 * MIB);
    lanes.enter(8 * MIB).close();
    assertFalse(lanes.reservePersistent(CAPACITY + 1));
    assertTrue(lanes.reservePersistent(5 * MIB));
    lanes.checkSafety();
    assertTrue(lanes.laneBytes() + 5 * MIB <= CAPACITY, "trimmed to " + lanes.laneBytes());
    assertEquals(2 * MIB, open.region().limitBytes());
    open.close();
    lanes.releasePersistent(5 * MIB);
  }

  @Test
  void manyThreads_enterGrowAndLeave_isSafeAllTheTime() {
    RandomThreads.run(this::manyIterations);
    lanes.checkSafety();
  }

  private void manyIterations(Random random) {
    for (int i = 0; i < 2_000; i++) {
      long constants = random.nextInt(10) == 0 ? random.nextLong(MIB) : 0;
      boolean reserved = lanes.reservePersistent(constants);
      try (LaneLease lane = lanes.enter(random.nextLong(6 * MIB))) {
        lanes.checkSafety();
        MemoryTarget target = new MemoryTarget.Ephemeral(lane.region(), lane::grow);
        assertEquals(0, lane.region().usedBytes(), "nobody else is inside");
        for (int k = random.nextInt(4); k > 0; k--) {
          long address = target.allocate(1 + random.nextLong(3 * MIB));
          lanes.checkSafety();
          if (address != 0) {
            lane.region().free(address);
          }
        }
      }
      if (reserved) {
        lanes.releasePersistent(constants);
      }
      lanes.checkSafety();
    }
  }
}
