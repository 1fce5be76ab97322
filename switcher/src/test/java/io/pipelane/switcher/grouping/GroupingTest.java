package io.pipelane.switcher.grouping;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.memory.FakeModels;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class GroupingTest {
  @Test
  void groups_ofRandomPlansAndPrefixes_coverExactlyAndEndWhereSegmentsEnd() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < 5_000; round++) {
      long[] segments = new long[1 + random.nextInt(12)];
      for (int i = 0; i < segments.length; i++) {
        segments[i] = random.nextInt(4) == 0 ? 0 : random.nextLong(1_000);
      }
      Plan plan = FakeModels.ofBytes("m", segments).plan();
      int maximum = 1 + random.nextInt(6);
      long minimum = 1 + random.nextLong(400);
      long resident =
          random.nextBoolean() ? 0 : random.nextLong(Math.max(1, plan.weightBytes() + 1));
      List<Group> groups = new EqualBytesGrouping(maximum, minimum).groups(plan, resident);
      String context = "seed " + seed + " round " + round + ": " + groups + " of " + plan;
      check(plan, resident, maximum, minimum, groups, context);
    }
  }

  private static void check(
      Plan plan, long resident, int maximum, long minimum, List<Group> groups, String context) {
    long at = resident;
    for (int i = 0; i < groups.size(); i++) {
      Group group = groups.get(i);
      assertEquals(at, group.offset(), context);
      assertTrue(group.byteSize() > 0, context);
      assertTrue(
          plan.segments().stream().anyMatch(segment -> segment.end() == group.end()), context);
      assertTrue(i == groups.size() - 1 || group.byteSize() >= minimum, context);
      at = group.end();
    }
    assertEquals(plan.weightBytes(), at, context);
    assertTrue(groups.size() <= maximum, context);
  }

  @Test
  void groups_withoutALeastSize_areTheSegments() {
    Plan plan = FakeModels.ofBytes("m", 5, 0, 7, 1).plan();
    List<Group> groups = new EqualBytesGrouping(Integer.MAX_VALUE, 1).groups(plan, 5);
    assertEquals(List.of(new Group(5, 12), new Group(12, 13)), groups);
  }

  @Test
  void groups_ofAllThatIsMissing_areOne() {
    Plan plan = FakeModels.ofBytes("m", 5, 0, 7, 1).plan();
    List<Group> groups = new EqualBytesGrouping(1, Long.MAX_VALUE).groups(plan, 5);
    assertEquals(List.of(new Group(5, 13)), groups);
  }

  @Test
  void settings_thatCannotBe_areRefused() {
    assertThrows(IllegalArgumentException.class, () -> new EqualBytesGrouping(0, 1));
    assertThrows(IllegalArgumentException.class, () -> new EqualBytesGrouping(1, 0));
  }
}
