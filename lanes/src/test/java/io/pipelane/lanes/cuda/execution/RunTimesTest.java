package io.pipelane.lanes.cuda.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class RunTimesTest {
  private final RunTimes times = new RunTimes();

  @Test
  void stall_nothingIsKnown_isNone() {
    assertEquals(0, times.median());
    assertEquals(0, times.stall(1_000));
  }

  @Test
  void first_isUnlikeTheOthersAndCountsForNothing() {
    times.add(690_000);
    assertEquals(0, times.median());
    assertEquals(0, times.shortest());
    times.add(300);
    times.add(200);
    times.add(400);
    assertEquals(300, times.median());
    assertEquals(200, times.shortest());
  }

  @Test
  void stall_isWhatARunTakesLongerThanTheOthers() {
    times.add(900);
    times.add(300);
    times.add(100);
    times.add(200);
    assertEquals(200, times.median());
    assertEquals(50, times.stall(250));
    assertEquals(0, times.stall(150));
  }

  @Test
  void segments_areDueAtTheSecondRunAndOnceInAWhile() {
    int due = 0;
    for (int run = 0; run < 320; run++) {
      boolean now = times.areSegmentsDue();
      assertTrue(run != 1 || now);
      due += now ? 1 : 0;
      times.add(100);
    }
    assertEquals(12, due);
  }

  @Test
  void segments_ofRunsThatAllWait_areDueOnceInAWhile() {
    times.add(100);
    times.add(100);
    int due = 0;
    for (int run = 0; run < 320; run++) {
      due += times.areSegmentsDue() ? 1 : 0;
    }
    assertEquals(11, due);
  }

  @Test
  void median_isOfTheRecentRuns() {
    for (int i = 0; i < 100; i++) {
      times.add(i < 50 ? 1_000 : 10);
    }
    assertEquals(10, times.median());
  }
}
