package io.pipelane.switcher.grouping;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.Plan;
import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.memory.FakeModels;
import java.util.List;
import org.junit.jupiter.api.Test;

class OptimalGroupingTest {
  private static final List<Group> OTHERWISE = List.of(new Group(0, 300));

  private final Plan plan = FakeModels.ofBytes("m", 100, 100, 100).plan();
  private final SegmentProfiles profiles = SegmentProfiles.inMemory();
  private final OptimalGrouping grouping =
      new OptimalGrouping(
          profiles, new PipelineCosts(LinkModel.line(0, 1e9), 0, 0), (model, bytes) -> OTHERWISE);

  private void observe(long... nanos) {
    profiles.observed(plan.structureHash(), "x", nanos);
    profiles.observed(plan.structureHash(), "x", nanos);
  }

  @Test
  void groups_withoutProfile_areThoseOfTheOtherGrouping() {
    assertEquals(OTHERWISE, grouping.groups(plan, 0));
    assertTrue(grouping.solution(plan).isEmpty());
  }

  @Test
  void groups_onceThereIsAProfile_areThoseThatItAsksFor() {
    observe(100, 100, 100);
    assertEquals(
        List.of(new Group(0, 100), new Group(100, 200), new Group(200, 300)),
        grouping.groups(plan, 0));
    assertEquals(List.of(new Group(150, 200), new Group(200, 300)), grouping.groups(plan, 150));
    assertEquals(List.of(), grouping.groups(plan, 300));
  }

  @Test
  void groups_beforeTheLinkIsMeasured_areThoseOfTheOtherGrouping() {
    LinkCosts costs = LinkCosts.unknown();
    OptimalGrouping early = new OptimalGrouping(profiles, costs, (model, bytes) -> OTHERWISE);
    observe(100, 100, 100);
    assertEquals(OTHERWISE, early.groups(plan, 0));
    costs.become(new PipelineCosts(LinkModel.line(0, 1e9), 0, 0));
    assertEquals(3, early.groups(plan, 0).size());
    costs.become(new PipelineCosts(LinkModel.line(0, 1e9), 0, 1_000_000));
    assertEquals(1, early.groups(plan, 0).size(), "waits have become dear");
  }

  @Test
  void groups_ofAProfileOfAnotherCut_areThoseOfTheOtherGrouping() {
    observe(100, 100);
    assertEquals(OTHERWISE, grouping.groups(plan, 0));
  }

  @Test
  void solution_whileTheProfileStays_isSolvedOnce() {
    observe(100, 100, 100);
    OptimalGroups solution = grouping.solution(plan).orElseThrow();
    assertSame(solution, grouping.solution(plan).orElseThrow());
    observe(102, 101, 100);
    assertSame(solution, grouping.solution(plan).orElseThrow(), "about the same times");
    observe(100_000, 100, 100);
    assertNotSame(solution, grouping.solution(plan).orElseThrow());
  }
}
