package io.pipelane.switcher.working;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.LaneLease;
import io.pipelane.lanes.execution.Lanes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OfflineWorkingMemoryTest {
  private static final long MIB = 1 << 20;

  private final Device device =
      CpuDevice.open(new ByteSize(MIB), new ByteSize(64 << 10), Bandwidth.UNLIMITED);
  private final Lanes lanes =
      new Lanes(device, new DeviceMemory(device.persistent()), 10 * MIB, 3, 0);
  private final OfflineWorkingMemory offline =
      new OfflineWorkingMemory(lanes, 4 * MIB, 10 * MIB, () -> false);

  @AfterEach
  void nothingIsHeld() {
    assertEquals(0, offline.heldBytes());
    assertEquals(10 * MIB, lanes.freeBytes());
    lanes.close();
    device.close();
  }

  private LaneLease enter(long bytes, Runnable beforeWaiting) {
    return offline.enter(bytes, 0, beforeWaiting, () -> lanes.enter(bytes));
  }

  private static void never() {
    throw new AssertionError("nobody has to wait");
  }

  @Test
  void run_thatNeedsMoreThanAll_isRefusedWithBothNumbers() {
    StatusException refusal =
        assertThrows(StatusException.class, () -> enter(5 * MIB, OfflineWorkingMemoryTest::never));
    assertEquals(Status.INSUFFICIENT_MEMORY, refusal.status());
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains("5MiB") && message.contains("4MiB"), message);
  }

  @Test
  void run_thatDoesNotFitBesideOthers_waitsForThem() throws Exception {
    CountDownLatch waits = new CountDownLatch(1);
    FutureTask<Long> second =
        new FutureTask<>(
            () -> {
              try (LaneLease _ = enter(2 * MIB, waits::countDown)) {
                return offline.heldBytes();
              }
            });
    try (LaneLease _ = enter(3 * MIB, OfflineWorkingMemoryTest::never)) {
      Thread.ofPlatform().start(second);
      waits.await();
      assertEquals(3 * MIB, offline.heldBytes());
      try (LaneLease _ = lanes.enter(6 * MIB)) {
        assertFalse(second.isDone(), "online work is not concerned");
      }
    }
    assertEquals(2 * MIB, second.get());
  }

  @Test
  void run_waitsForOneThatTurnsOutToBeStuck_isRefusedUntilThatIsGone() throws Exception {
    CountDownLatch waits = new CountDownLatch(1);
    FutureTask<Void> second =
        new FutureTask<>(
            () -> {
              enter(2 * MIB, waits::countDown).close();
              return null;
            });
    try (LaneLease first = enter(3 * MIB, OfflineWorkingMemoryTest::never)) {
      Thread.ofPlatform().start(second);
      waits.await();
      first.markStuck("its worker stays");
      ExecutionException refused = assertThrows(ExecutionException.class, second::get);
      assertEquals(
          Status.UNAVAILABLE, assertInstanceOf(StatusException.class, refused.getCause()).status());
      enter(MIB, OfflineWorkingMemoryTest::never).close();
    }
    enter(2 * MIB, OfflineWorkingMemoryTest::never).close();
  }

  /** Where small runs come and go all the time a large one would wait for ever. */
  @Test
  void run_thatWaits_isPassedByNobody() throws Exception {
    CountDownLatch waits = new CountDownLatch(1);
    CountDownLatch waitsBehind = new CountDownLatch(1);
    List<String> order = Collections.synchronizedList(new ArrayList<>());
    Thread large = entering("large", 4 * MIB, waits::countDown, order);
    Thread small = entering("small", MIB, waitsBehind::countDown, order);
    try (LaneLease _ = enter(2 * MIB, OfflineWorkingMemoryTest::never)) {
      large.start();
      waits.await();
      small.start();
      waitsBehind.await();
    }
    large.join();
    small.join();
    assertEquals(List.of("large", "small"), order);
  }

  private Thread entering(String name, long bytes, Runnable beforeWaiting, List<String> order) {
    return Thread.ofPlatform()
        .unstarted(
            () -> {
              try (LaneLease _ = enter(bytes, beforeWaiting)) {
                order.add(name);
              }
            });
  }

  @Test
  void growth_countsAndIsBounded() {
    try (LaneLease lane = enter(MIB, OfflineWorkingMemoryTest::never)) {
      long first = lane.region().allocate(MIB);
      assertTrue(lane.grow(2 * MIB));
      assertEquals(3 * MIB, offline.heldBytes());
      assertFalse(lane.grow(4 * MIB), "the working memory has room, offline work has none");
      assertEquals(3 * MIB, offline.heldBytes());
      lane.region().free(first);
    }
  }

  @Test
  void state_isCountedWithLanes_andWaitedForByNobody() {
    assertTrue(offline.tryReservePersistent(3 * MIB));
    assertFalse(offline.tryReservePersistent(2 * MIB));
    try (LaneLease _ = enter(MIB, OfflineWorkingMemoryTest::never)) {
      assertFalse(offline.tryReservePersistent(1));
    }
    StatusException refusal =
        assertThrows(StatusException.class, () -> enter(2 * MIB, OfflineWorkingMemoryTest::never));
    assertEquals(Status.UNAVAILABLE, refusal.status(), "states go, some time");
    offline.releasePersistent(3 * MIB);
  }

  @Test
  void share_leavesRoomForAState_whateverIsFree() {
    assertTrue(offline.tryReservePersistent(MIB));
    try (LaneLease _ = enter(MIB, OfflineWorkingMemoryTest::never);
        LaneLease _ = lanes.enter(8 * MIB)) {
      assertFalse(offline.tryReservePersistent(2 * MIB), "others have the rest");
      assertTrue(offline.hasShareFor(2 * MIB));
      assertFalse(offline.hasShareFor(2 * MIB + 1));
    }
    offline.releasePersistent(MIB);
  }

  @Test
  void laneThatCannotBeEntered_isNotCounted() {
    assertThrows(
        IllegalStateException.class,
        () ->
            offline.enter(
                MIB,
                0,
                OfflineWorkingMemoryTest::never,
                () -> {
                  throw new IllegalStateException("as a test wants it");
                }));
  }
}
