package io.pipelane.lanes.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SlotMappingsTest {
  private static final int SLOTS = 6;

  private final FakeDriver driver = new FakeDriver();
  private final SlotMappings mappings =
      new SlotMappings(driver, driver::zero, FakeDriver.BASE, FakeDriver.PAGE, SLOTS);

  @Test
  void settle_ofAdjacentSlots_allowsAccessOnce() {
    for (int slot = 0; slot < 4; slot++) {
      mappings.plan(slot, 7 + slot);
    }
    mappings.settle(1, 3);
    assertEquals(List.of("map 1 8", "map 2 9", "allow 1+2"), driver.takeCalls());
    assertFalse(mappings.isSettled());
    mappings.settle();
    assertEquals(List.of("map 0 7", "allow 0+1", "map 3 10", "allow 3+1"), driver.takeCalls());
    assertTrue(mappings.isSettled());
  }

  @Test
  void plan_ofThePageThatWasThere_costsNothing() {
    mappings.plan(2, 5);
    mappings.settle();
    driver.takeCalls();
    mappings.plan(2, 0);
    assertFalse(mappings.isSettled());
    mappings.plan(2, 5);
    assertTrue(mappings.isSettled());
    mappings.settle();
    assertEquals(List.of(), driver.takeCalls());
  }

  @Test
  void settle_ofAnotherPage_takesTheOldOneAwayFirst() {
    mappings.plan(2, 5);
    mappings.settle();
    mappings.plan(2, 0);
    mappings.plan(2, 6);
    driver.takeCalls();
    mappings.settle(2, 3);
    assertEquals(List.of("unmap 2", "map 2 6", "allow 2+1"), driver.takeCalls());
  }

  @Test
  void settle_ofZeroedPages_zeroesThemOnceTheyCanBeWritten() {
    mappings.plan(0, 5, false);
    mappings.plan(1, 6, true);
    mappings.settle();
    assertEquals(List.of("map 0 5", "map 1 6", "allow 0+2", "zero 1"), driver.takeCalls());
    mappings.settle();
    assertEquals(List.of(), driver.takeCalls());
  }

  @Test
  void plan_ofThePageThatWasThereZeroed_isNotSettledBefore() {
    mappings.plan(2, 5);
    mappings.settle();
    driver.takeCalls();
    mappings.plan(2, 0);
    mappings.plan(2, 5, true);
    assertFalse(mappings.isSettled());
    mappings.settleSome();
    assertEquals(List.of("unmap 2", "map 2 5", "allow 2+1", "zero 2"), driver.takeCalls());
    assertTrue(mappings.isSettled());
  }

  @Test
  void plan_ofNothingBeforeAPageWasZeroed_leavesNothingToDo() {
    mappings.plan(2, 5, true);
    mappings.plan(2, 0);
    assertTrue(mappings.isSettled());
    mappings.settle();
    assertEquals(List.of(), driver.takeCalls());
  }

  @Test
  void settle_zeroingFails_isDoneAgain() {
    mappings.plan(0, 5, true);
    mappings.plan(1, 6);
    driver.failAfter(3);
    assertThrows(IllegalStateException.class, mappings::settle);
    assertEquals(Map.of(), driver.mapped);
    driver.takeCalls();
    mappings.settle();
    assertEquals(List.of("map 0 5", "map 1 6", "allow 0+2", "zero 0"), driver.takeCalls());
    assertTrue(mappings.isSettled());
  }

  @Test
  void settleSome_mapsBeforeItUnmaps() {
    mappings.plan(0, 5);
    mappings.plan(1, 6);
    mappings.settle();
    driver.takeCalls();
    mappings.plan(0, 0);
    mappings.plan(1, 0);
    mappings.plan(4, 5);
    mappings.settleSome();
    assertEquals(List.of("map 4 5", "allow 4+1"), driver.takeCalls());
    mappings.settleSome();
    mappings.settleSome();
    assertEquals(List.of("unmap 1", "unmap 0"), driver.takeCalls());
    assertTrue(mappings.isSettled());
  }

  @Test
  void settleNext_doesTheFirstFewBeforeAnEnd_untilAllAreSettled() {
    for (int slot = 0; slot < 5; slot++) {
      mappings.plan(slot, 7 + slot);
    }
    mappings.settle(1, 2);
    driver.takeCalls();
    assertFalse(mappings.settleNext(4));
    assertEquals(List.of("map 0 7", "allow 0+1"), driver.takeCalls());
    assertTrue(mappings.settleNext(4));
    assertEquals(List.of("map 2 9", "map 3 10", "allow 2+2"), driver.takeCalls());
    assertTrue(mappings.settleNext(4));
    assertEquals(List.of(), driver.takeCalls());
    assertFalse(mappings.isSettled());
  }

  @Test
  void settle_thatFails_undoesTheRunAndWorksLater() {
    for (int slot = 0; slot < 3; slot++) {
      mappings.plan(slot, 7 + slot);
    }
    for (int failing = 0; failing < 4; failing++) {
      driver.failAfter(failing);
      assertThrows(IllegalStateException.class, mappings::settle);
      assertEquals(Map.of(), driver.mapped);
      assertFalse(mappings.isSettled());
    }
    driver.takeCalls();
    mappings.settle();
    assertEquals(Map.of(0, 7L, 1, 8L, 2, 9L), driver.mapped);
    mappings.clear();
    assertEquals(Map.of(), driver.mapped);
    assertTrue(mappings.isSettled());
  }

  @Test
  void randomPlans_settleToWhatIsPlanned() {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    long[] planned = new long[SLOTS];
    for (int step = 0; step < 20_000; step++) {
      int slot = random.nextInt(SLOTS);
      switch (random.nextInt(4)) {
        case 0 -> {
          int end = random.nextInt(slot, SLOTS + 1);
          mappings.settle(slot, end);
          for (int i = slot; i < end; i++) {
            assertEquals(planned[i], driver.mapped.getOrDefault(i, 0L), "seed " + seed);
            assertFalse(driver.unzeroed.get(i), "seed " + seed);
          }
        }
        case 1 -> mappings.settleSome();
        default -> {
          planned[slot] = random.nextInt(3);
          boolean zeroed = planned[slot] != 0 && random.nextInt(4) == 0;
          mappings.plan(slot, planned[slot], zeroed);
          driver.unzeroed.set(slot, zeroed);
        }
      }
      boolean settled = true;
      for (int i = 0; i < SLOTS; i++) {
        settled &= planned[i] == driver.mapped.getOrDefault(i, 0L) && !driver.unzeroed.get(i);
      }
      assertEquals(settled, mappings.isSettled(), "seed " + seed);
    }
  }
}
