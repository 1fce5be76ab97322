package io.pipelane.lanes.assignment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.assignment.Decision.Assigned;
import io.pipelane.lanes.assignment.Decision.Joined;
import io.pipelane.lanes.assignment.Decision.NotFound;
import io.pipelane.lanes.assignment.Decision.Opened;
import io.pipelane.lanes.assignment.Decision.Replaced;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LaneTableTest {
  private final LaneTable table = new LaneTable(100, 2);

  @AfterEach
  void safe() {
    table.checkSafety();
  }

  @Test
  void arrive_whereRoomIs_opensLaneOfTheJobsSize() {
    Opened opened = assertInstanceOf(Opened.class, table.arrive(new Job("a", 10, 20)));
    assertEquals(Map.of(opened.lane(), 20L), table.lanes());
    assertEquals(70, table.headroomBytes());
  }

  @Test
  void arrive_withAllLanesOpen_joinsTheTightestThatFits() {
    LaneId large = assigned(new Job("a", 0, 30)).lane();
    LaneId small = assigned(new Job("b", 0, 20)).lane();
    assertEquals(small, assertInstanceOf(Joined.class, table.arrive(new Job("c", 5, 15))).lane());
    assertEquals(large, assertInstanceOf(Joined.class, table.arrive(new Job("d", 5, 25))).lane());
  }

  @Test
  void arrive_withEqualLanes_joinsTheOneWithFewestJobs() {
    LaneId one = assigned(new Job("a", 0, 20)).lane();
    LaneId other = assigned(new Job("b", 0, 20)).lane();
    assertEquals(one, assigned(new Job("c", 0, 20)).lane());
    assertEquals(other, assigned(new Job("d", 0, 20)).lane());
  }

  @Test
  void arrive_largerThanAnyLane_growsTheSmallest() {
    assigned(new Job("a", 0, 30));
    LaneId small = assigned(new Job("b", 0, 20)).lane();
    Decision decision = table.arrive(new Job("c", 0, 60));
    assertEquals(new Replaced(new Job("c", 0, 60), small), decision);
    assertEquals(10, table.headroomBytes());
  }

  @Test
  void arrive_whoseEphemeralFitsButPersistentDoesNot_staysPending() {
    assigned(new Job("a", 50, 30));
    assertInstanceOf(NotFound.class, table.arrive(new Job("b", 21, 10)));
  }

  @Test
  void arrive_neverFitting_isRefusedWithBothNumbers() {
    StatusException refused =
        assertThrows(StatusException.class, () -> table.arrive(new Job("a", 60, 41)));
    assertEquals(Status.INSUFFICIENT_MEMORY, refused.status());
    assertTrue(String.valueOf(refused.getMessage()).contains("101 bytes (60 persistent"));
    assertTrue(String.valueOf(refused.getMessage()).contains("the device has 100"));
    assertThrows(
        StatusException.class, () -> table.arrive(new Job("b", Long.MAX_VALUE, Long.MAX_VALUE)));
    assertEquals(List.of(), table.pending());
  }

  @Test
  void finish_ofALanesLastJob_closesItAndAdmitsPendingInOrder() {
    LaneId first = assigned(new Job("a", 40, 60)).lane();
    table.arrive(new Job("b", 0, 90));
    table.arrive(new Job("c", 11, 50));
    table.arrive(new Job("d", 0, 10));
    assertEquals(List.of("b", "c"), table.pending().stream().map(Job::id).toList());
    Departure departure = table.finish("a");
    assertEquals(Optional.empty(), departure.closed(), "d has joined it");
    assertEquals(List.of("b"), departure.admitted().stream().map(d -> d.job().id()).toList());
    assertEquals(Optional.of(first), table.laneOf("d"));
    assertEquals(Optional.empty(), table.finish("d").closed());
    assertEquals(Optional.of(first), table.finish("b").closed());
    assertEquals(Map.of(table.laneOf("c").orElseThrow(), 50L), table.lanes());
  }

  @Test
  void finish_ofPendingJob_withdrawsIt() {
    assigned(new Job("a", 40, 60));
    table.arrive(new Job("b", 0, 90));
    assertEquals(new Departure(Optional.empty(), List.of()), table.finish("b"));
    assertEquals(List.of(), table.pending());
    assertThrows(IllegalArgumentException.class, () -> table.finish("b"));
  }

  @Test
  void persistentChanged_tellsRoomBothWays() {
    table.persistentChanged(50);
    assertInstanceOf(NotFound.class, table.arrive(new Job("a", 20, 40)));
    assertThrows(StatusException.class, () -> table.persistentChanged(101));
    List<Assigned> admitted = table.persistentChanged(40);
    assertEquals(List.of("a"), admitted.stream().map(d -> d.job().id()).toList());
    assertThrows(StatusException.class, () -> table.persistentChanged(41));
    assertEquals(0, table.headroomBytes());
  }

  @Test
  void arrive_ofAJobThatIsHere_throws() {
    assigned(new Job("a", 1, 1));
    assertThrows(IllegalArgumentException.class, () -> table.arrive(new Job("a", 2, 2)));
    assertThrows(IllegalArgumentException.class, () -> new Job("b", -1, 0));
  }

  private Assigned assigned(Job job) {
    return assertInstanceOf(Assigned.class, table.arrive(job));
  }
}
