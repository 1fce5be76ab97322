package io.pipelane.lanes.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.cpu.CpuDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Lanes that may have memory of others for a time. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BorrowingLanesTest {
  private static final long MIB = 1 << 20;
  private static final long CAPACITY = 6 * MIB;
  private static final long RESERVE = 4 * MIB;

  /** Has so much left; some of it may be in use, for which nobody waits. */
  private static final class CountedReserve implements Reserve {
    final AtomicLong left = new AtomicLong(RESERVE);

    @Override
    public long unitBytes() {
      return MIB;
    }

    @Override
    public long lend(long bytes) {
      long wanted = Math.ceilDiv(bytes, MIB) * MIB;
      long before = left.getAndUpdate(free -> free - Math.min(free, wanted));
      return Math.min(before, wanted);
    }

    @Override
    public void giveBack(long bytes) {
      assertEquals(0, bytes % MIB);
      assertTrue(left.addAndGet(bytes) <= RESERVE, "more came back than was lent");
    }
  }

  private final CountedReserve reserve = new CountedReserve();
  private final Device device =
      CpuDevice.open(new ByteSize(MIB), new ByteSize(64 << 10), Bandwidth.UNLIMITED);
  private final Lanes lanes =
      new Lanes(device, new DeviceMemory(device.persistent()), CAPACITY, 3, RESERVE);

  BorrowingLanesTest() {
    lanes.borrowed().from(reserve);
  }

  @AfterEach
  void everythingIsGivenBack() {
    lanes.checkSafety();
    assertEquals(0, lanes.borrowed().bytes());
    assertEquals(RESERVE, reserve.left.get());
    assertEquals(CAPACITY, lanes.freeBytes());
    assertEquals(CAPACITY, lanes.largestLaneBytes());
    lanes.close();
    device.close();
  }

  @Test
  void grow_beyondWhatIsSetAside_borrowsUntilTheLaneIsLeft() {
    try (LaneLease lane = lanes.enter(5 * MIB)) {
      long address = lane.region().allocate(5 * MIB);
      assertTrue(lane.grow(3 * MIB));
      assertTrue(lane.region().limitBytes() >= 8 * MIB);
      assertTrue(lanes.borrowed().bytes() >= 2 * MIB);
      assertFalse(lane.grow(6 * MIB), "there is not as much");
      LanesOverview overview = lanes.overview();
      assertEquals(1, overview.open());
      assertEquals(1, overview.inUse());
      assertEquals(1, overview.grown());
      assertTrue(overview.regionBytes().contains(lane.region().limitBytes()));
      lanes.checkSafety();
      lane.region().free(address);
    }
  }

  @Test
  void grow_reserveHasNothingNow_leavesTheLaneAsItIs() {
    reserve.left.set(0);
    try (LaneLease lane = lanes.enter(6 * MIB)) {
      assertFalse(lane.grow(7 * MIB));
      assertEquals(6 * MIB, lane.region().limitBytes());
    }
    reserve.left.set(RESERVE);
  }

  @Test
  void borrow_forALaneThatIsEnteredLater_staysUntilThen() {
    try (BorrowedSpace.Borrowing _ = lanes.borrowed().begin()) {
      assertTrue(lanes.borrowed().borrow(9 * MIB));
      lanes.enter(MIB).close();
      assertEquals(9 * MIB, lanes.largestLaneBytes(), "another one's leaving takes nothing");
      lanes.enter(9 * MIB).close();
    }
  }

  /** A thread for each short run would cost more than the run. */
  @Test
  void leaveAtOnce_nothingIsSpare_hasNothingDoneBeside() {
    List<Runnable> beside = new ArrayList<>();
    try (LaneLease large = lanes.enter(5 * MIB)) {
      assertTrue(large.grow(7 * MIB + MIB / 2));
      shortRun(beside);
      assertEquals(List.of(), beside, "less than a unit");
    }
    try (BorrowedSpace.Borrowing _ = lanes.borrowed().begin()) {
      assertTrue(lanes.borrowed().borrow(9 * MIB));
      shortRun(beside);
      assertEquals(List.of(), beside, "somebody is about to enter the lane it was borrowed for");
    }
  }

  @Test
  void leaveAtOnce_whatItsLaneHadIsSpare_hasItGivenBackBeside() {
    List<Runnable> beside = new ArrayList<>();
    LaneLease lane;
    try (BorrowedSpace.Borrowing _ = lanes.borrowed().begin()) {
      assertTrue(lanes.borrowed().borrow(9 * MIB));
      lane = Objects.requireNonNull(lanes.enterAtOnce(9 * MIB, false, beside::add));
    }
    assertEquals(3 * MIB, lanes.borrowed().bytes(), "the lane has it");
    lane.close();
    assertEquals(1, beside.size());
    assertEquals(3 * MIB, lanes.borrowed().bytes());
    beside.getFirst().run();
  }

  private void shortRun(List<Runnable> beside) {
    try (LaneLease lane = Objects.requireNonNull(lanes.enterAtOnce(MIB / 2, false, beside::add))) {
      assertTrue(lane.region().limitBytes() >= MIB / 2);
    }
  }

  @Test
  void reservePersistent_hasNothingOfWhatIsBorrowed() {
    try (BorrowedSpace.Borrowing _ = lanes.borrowed().begin()) {
      assertTrue(lanes.borrowed().borrow(9 * MIB));
      assertFalse(lanes.tryReservePersistent(7 * MIB));
      assertFalse(lanes.reservePersistent(7 * MIB));
      assertTrue(lanes.tryReservePersistent(6 * MIB));
      assertEquals(3 * MIB, lanes.largestLaneBytes());
    }
    lanes.releasePersistent(6 * MIB);
  }

  @Test
  void leave_parkedRegions_areTrimmedBeforeTheirMemoryGoesBack() {
    try (LaneLease first = lanes.enter(5 * MIB)) {
      assertTrue(first.grow(9 * MIB));
      lanes.checkSafety();
    }
    assertTrue(lanes.laneBytes() <= CAPACITY);
  }

  @Test
  void manyThreads_enterGrowBorrowAndLeave_isSafeAllTheTime() {
    RandomThreads.run(this::manyIterations);
  }

  private void manyIterations(Random random) {
    for (int i = 0; i < 1_000; i++) {
      long needed = random.nextLong(4 * MIB);
      try (LaneLease lane = lanes.enter(needed)) {
        MemoryTarget target = new MemoryTarget.Ephemeral(lane.region(), lane::grow);
        for (int k = random.nextInt(4); k > 0; k--) {
          long address = target.allocate(1 + random.nextLong(5 * MIB));
          lanes.checkSafety();
          if (address != 0) {
            lane.region().free(address);
          }
        }
      }
      lanes.checkSafety();
    }
  }
}
