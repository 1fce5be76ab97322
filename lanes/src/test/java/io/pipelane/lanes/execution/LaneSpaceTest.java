package io.pipelane.lanes.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.cpu.CpuDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LaneSpaceTest {
  private static final long MIB = 1 << 20;
  private static final long CAPACITY = 10 * MIB;
  private static final long MOST_BORROWED = 4 * MIB;

  private final Device device =
      CpuDevice.open(new ByteSize(MIB), new ByteSize(64 << 10), Bandwidth.UNLIMITED);
  private final LaneSpace space =
      new LaneSpace(device, new DeviceMemory(device.persistent()), CAPACITY, 3, MOST_BORROWED);

  @AfterEach
  void everythingIsFree() {
    space.checkSafety();
    assertFalse(space.hasPending());
    assertEquals(CAPACITY, space.freeBytes());
    assertEquals(CAPACITY, space.largestLaneBytes());
    assertEquals(0, space.overview().open());
    space.close();
    device.close();
  }

  private LaneSpace.Lane entered(String iteration, long bytes) {
    space.arrive(iteration, bytes, false, Set.of());
    LaneSpace.Lane lane = laneOf(iteration);
    space.limit(lane);
    return lane;
  }

  @Test
  void arrive_noLaneIsLargeEnough_waitsUntilOneCanBecomeLarger() {
    LaneSpace.Lane first = entered("first", 4 * MIB);
    entered("second", 6 * MIB);
    assertThrows(StatusException.class, () -> space.arrive("never", 15 * MIB, false, Set.of()));
    space.arrive("third", 7 * MIB, false, Set.of());
    assertNull(space.laneOf("third"));
    assertTrue(space.hasPending());
    space.finish("second");
    assertSame(first, laneOf("third"), "they take turns");
    space.limit(first);
    assertEquals(7 * MIB, first.region.limitBytes());
    space.finish("first");
    assertEquals(3 * MIB, space.freeBytes());
    space.finish("third");
  }

  private LaneSpace.Lane laneOf(String iteration) {
    LaneSpace.@Nullable Lane lane = space.laneOf(iteration);
    assertNotNull(lane);
    return lane;
  }

  @Test
  void arrive_regionsAlikeAreParked_theOneParkedLastIsTakenAgain() {
    LaneSpace.Lane first = entered("first", MIB);
    LaneSpace.Lane second = entered("second", MIB);
    space.finish("first");
    space.finish("second");
    for (String iteration : List.of("third", "fourth", "fifth")) {
      assertSame(second.region, entered(iteration, MIB).region);
      space.finish(iteration);
    }
    assertSame(second.region, entered("beside", MIB).region);
    assertSame(first.region, entered("other", MIB).region);
    space.finish("beside");
    space.finish("other");
  }

  @Test
  void arrive_exactly_hasNoMoreThanThat_andLeavesLargerRegionsParked() {
    entered("small", MIB);
    entered("large", 6 * MIB);
    space.finish("small");
    space.finish("large");
    space.arrive("exact", 2 * MIB, true, Set.of());
    LaneSpace.Lane exact = laneOf("exact");
    space.limit(exact);
    assertEquals(2 * MIB, exact.region.limitBytes());
    assertEquals(8 * MIB, space.regionBytes(), "the small region has become larger");
    assertFalse(space.takesOfParked(MIB, true), "the third has nothing");
    space.arrive("beside", MIB, true, Set.of());
    assertTrue(space.takesOfParked(MIB, true));
    assertFalse(space.takesOfParked(MIB, false));
    space.finish("exact");
    space.finish("beside");
  }

  @Test
  void arrive_exactly_onlyALargerRegionIsParked_givesBackWhatIsNotAskedFor() {
    try (LaneSpace one =
        new LaneSpace(device, new DeviceMemory(device.persistent()), CAPACITY, 1, 0)) {
      one.arrive("large", 6 * MIB, false, Set.of());
      one.limit(Objects.requireNonNull(one.laneOf("large")));
      one.finish("large");
      one.arrive("exact", MIB, true, Set.of());
      assertEquals(MIB, one.regionBytes());
      assertEquals(9 * MIB, one.freeBytes());
      one.finish("exact");
    }
  }

  @Test
  void borrowed_isForLanesAlone() {
    space.borrowed(4 * MIB);
    assertEquals(14 * MIB, space.largestLaneBytes());
    assertEquals(CAPACITY, space.mostPersistentBytes());
    assertThrows(IllegalStateException.class, () -> space.borrowed(5 * MIB));
    space.addPersistent(10 * MIB);
    entered("all that is borrowed", 4 * MIB);
    assertEquals(0, space.freeBytes());
    space.finish("all that is borrowed");
    space.addPersistent(-10 * MIB);
    space.borrowed(0);
  }

  @Test
  void laneOf_laneOfTheTableWasNotOpened_isAnError() {
    try (LaneSpace broken =
        new LaneSpace(device, new DeviceMemory(device.persistent()), CAPACITY, 1, 0)) {
      broken.arrive("first", CAPACITY, false, Set.of());
      LaneSpace.@Nullable Lane first = broken.laneOf("first");
      assertNotNull(first);
      broken.limit(first);
      broken.stuck(first, "the test says so");
      broken.arrive("second", MIB, false, Set.of());
      assertNull(broken.laneOf("second"));
      long forgotten = first.region.allocate(2 * MIB);

      assertThrows(IllegalArgumentException.class, () -> broken.finish("first"));
      assertThrows(NullPointerException.class, () -> broken.laneOf("second"));

      first.region.free(forgotten);
    }
  }

  @Test
  void arbitraryChanges_keepTheSafetyCondition() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    List<String> here = new ArrayList<>();
    long persistent = 0;
    try {
      for (int i = 0; i < 5_000; i++) {
        switch (random.nextInt(6)) {
          case 0, 1 -> {
            String iteration = "iteration " + i;
            space.arrive(
                iteration,
                random.nextLong(space.largestLaneBytes() + 1),
                random.nextBoolean(),
                Set.of());
            here.add(iteration);
          }
          case 2 -> {
            if (!here.isEmpty()) {
              space.finish(here.remove(random.nextInt(here.size())));
            }
          }
          case 3 -> grow(here, random);
          case 4 -> {
            long bytes = random.nextLong(-persistent, space.freeBytes() + 1);
            space.addPersistent(bytes);
            persistent += bytes;
          }
          default -> {
            long taken = Math.max(0, space.borrowedBytes() - space.headroomBytes());
            space.borrowed(random.nextLong(taken, MOST_BORROWED + 1));
          }
        }
        limitAll(here);
        space.checkSafety();
        if (here.size() > 8) {
          space.finish(here.removeFirst());
        }
      }
      here.forEach(space::finish);
      space.addPersistent(-persistent);
      space.borrowed(0);
    } catch (RuntimeException | Error e) {
      throw new AssertionError("seed " + seed, e);
    }
  }

  private void grow(List<String> here, Random random) {
    if (here.isEmpty()) {
      return;
    }
    String iteration = here.get(random.nextInt(here.size()));
    LaneSpace.@Nullable Lane lane = space.laneOf(iteration);
    if (lane != null) {
      long before = lane.region.limitBytes();
      boolean grown = space.grow(lane, iteration, random.nextLong(4 * MIB));
      assertEquals(grown, lane.region.limitBytes() > before);
    }
  }

  private void limitAll(List<String> here) {
    for (String iteration : here) {
      LaneSpace.@Nullable Lane lane = space.laneOf(iteration);
      if (lane != null) {
        space.limit(lane);
      }
    }
  }
}
