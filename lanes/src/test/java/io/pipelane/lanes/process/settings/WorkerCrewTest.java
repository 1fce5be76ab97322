package io.pipelane.lanes.process.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.cpu.ProcessPriority;
import org.junit.jupiter.api.Test;

class WorkerCrewTest {
  private static WorkerCrew crew(int standbys, boolean offlineApart, int mostBuilds) {
    return new WorkerCrew(standbys, offlineApart, ProcessPriority.USUAL, mostBuilds);
  }

  @Test
  void thoseThatWork_areBesideThoseThatStandBy() {
    assertEquals(3, crew(2, false, 8).size());
    assertEquals(4, crew(2, true, 8).size());
  }

  @Test
  void builds_areOneAtLeast_andNoMoreThanThereAreBesideTheActiveOne() {
    assertEquals(1, crew(0, false, 8).buildsAtOnce());
    assertEquals(1, crew(2, false, 0).buildsAtOnce());
    assertEquals(2, crew(2, false, 8).buildsAtOnce());
    assertEquals(3, crew(2, true, 8).buildsAtOnce());
  }
}
