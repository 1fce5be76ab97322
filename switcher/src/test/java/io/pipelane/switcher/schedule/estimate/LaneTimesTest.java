package io.pipelane.switcher.schedule.estimate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class LaneTimesTest {
  @Test
  void add_runsGoToTheLaneThatIsFreeFirst() {
    LaneTimes lanes = new LaneTimes(5, 0, 3);
    lanes.add(4);
    assertEquals(3, lanes.beginNanos());
    lanes.add(1);
    assertEquals(4, lanes.beginNanos());
    assertEquals((5 + 4 + 4 + 2) / 3, lanes.latestBeginNanos(2));
  }
}
