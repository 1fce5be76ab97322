package io.pipelane.lanes.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LaneWaitsTest extends LanesFixture {
  @Test
  void enter_memoryAllowsOneLane_isSharedInTurns() throws Exception {
    AtomicInteger inside = new AtomicInteger();
    LaneLease first = lanes.enter(6 * MIB);
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      CountDownLatch begun = new CountDownLatch(4);
      List<Future<?>> others = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        others.add(
            threads.submit(
                () -> {
                  begun.countDown();
                  try (LaneLease lane = lanes.enter(5 * MIB)) {
                    assertEquals(1, inside.incrementAndGet(), "one at a time");
                    lanes.checkSafety();
                    assertTrue(lane.region().limitBytes() >= 5 * MIB);
                    inside.decrementAndGet();
                  }
                }));
      }
      begun.await();
      assertEquals(0, inside.get());
      first.close();
      for (Future<?> other : others) {
        other.get();
      }
    }
  }

  /** Policies ask under the queue's lock, which those that wait for a lane may need. */
  @Test
  void largestLaneBytes_whileSomebodyIsAboutToWait_isToldAtOnce() throws Exception {
    CountDownLatch aboutToWait = new CountDownLatch(1);
    CountDownLatch told = new CountDownLatch(1);
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      LaneLease first = lanes.enter(CAPACITY);
      Future<?> second =
          threads.submit(
              () ->
                  lanes
                      .enter(
                          MIB,
                          false,
                          Set.of(),
                          () -> {
                            aboutToWait.countDown();
                            awaitUninterrupted(told);
                          })
                      .close());
      aboutToWait.await();
      assertEquals(CAPACITY, lanes.largestLaneBytes());
      told.countDown();
      first.close();
      second.get();
    }
  }

  private static void awaitUninterrupted(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void enter_constantsLeaveTooLittle_isRefusedInsteadOfWaiting() {
    assertTrue(lanes.reservePersistent(8 * MIB));
    StatusException error = assertThrows(StatusException.class, () -> lanes.enter(5 * MIB).close());
    assertEquals(Status.INSUFFICIENT_MEMORY, error.status());
    lanes.checkSafety();
    lanes.releasePersistent(8 * MIB);
    lanes.enter(5 * MIB).close();
  }

  @Test
  void reservePersistent_lanesHoldTheRoom_waitsForThemAndIsNotPassed() throws Exception {
    LaneLease first = lanes.enter(6 * MIB);
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Future<Boolean> constants = threads.submit(() -> lanes.reservePersistent(5 * MIB));
      first.close();
      assertTrue(constants.get());
      Future<?> later = threads.submit(() -> lanes.enter(5 * MIB).close());
      later.get();
    }
    lanes.releasePersistent(5 * MIB);
    lanes.checkSafety();
  }

  /** Begins to enter a lane that others have, on a thread; answers once it is about to wait. */
  private Future<Long> entering(ExecutorService threads, long bytes) throws InterruptedException {
    CountDownLatch waits = new CountDownLatch(1);
    Future<Long> entering =
        threads.submit(
            () -> {
              try (LaneLease lane = lanes.enter(bytes, false, Set.of(), waits::countDown)) {
                return lane.region().address();
              }
            });
    waits.await();
    return entering;
  }

  private static void assertRefused(Future<?> waiting) {
    Throwable refusal = assertThrows(ExecutionException.class, waiting::get).getCause();
    StatusException error = assertInstanceOf(StatusException.class, refusal);
    assertEquals(Status.UNAVAILABLE, error.status());
    assertTrue(error.toString().contains("its worker stays"), error.toString());
  }

  @Test
  void isStuck_othersWaitInThatLane_areRefusedWhereNoneWillBeLeft() throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(1);
        LaneLease stays = lanes.enter(8 * MIB)) {
      Future<Long> waiting = entering(threads, 6 * MIB);
      stays.markStuck("its worker stays");
      assertRefused(waiting);
      assertThrows(StatusException.class, () -> lanes.enter(6 * MIB).close());
      assertThrows(StatusException.class, () -> lanes.reservePersistent(6 * MIB));
      lanes.enter(2 * MIB).close();
      assertEquals(1, lanes.overview().stuck());
    }
    lanes.enter(8 * MIB).close();
  }

  @Test
  void isStuck_othersWaitInThatLane_goToOneThatWillBeLeft() throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(1);
        LaneLease stays = lanes.enter(7 * MIB)) {
      Future<Long> waiting;
      long address;
      try (LaneLease other = lanes.enter(2 * MIB)) {
        address = other.region().address();
        waiting = entering(threads, 3 * MIB);
        stays.markStuck("its worker stays");
      }
      assertEquals(address, waiting.get());
    }
  }

  @Test
  void isStuck_nobodyLeavesALaneAnyMore_whoWaitsForMemoryIsRefused() throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(2);
        LaneLease first = lanes.enter(4 * MIB)) {
      Future<Long> waiting;
      try (LaneLease second = lanes.enter(6 * MIB)) {
        waiting = entering(threads, 7 * MIB);
        first.markStuck("its worker stays");
        assertFalse(waiting.isDone(), "the second lane will be left");
        second.markStuck("its worker stays");
        assertRefused(waiting);
        Future<Boolean> constants = threads.submit(() -> lanes.reservePersistent(MIB));
        assertRefused(constants);
      }
      lanes.enter(6 * MIB).close();
    }
  }
}
