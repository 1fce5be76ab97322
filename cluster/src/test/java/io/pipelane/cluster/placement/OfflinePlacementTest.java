package io.pipelane.cluster.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.cluster.profile.WorkloadProfile;
import io.pipelane.cluster.speed.MultiprocessorShare;
import io.pipelane.cluster.speed.SpeedPredictor;
import io.pipelane.config.StatusException;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

class OfflinePlacementTest {
  private static final String TYPE = "T4";
  private static final Duration INTERVAL = Duration.ofMinutes(15);

  /** MuxFlow's figure 9; profiles are told apart by their separate times. */
  private static final double[][] FIGURE_9 = {{0.3, 0.8, 0.4}, {0.8, 0.4, 0.3}};

  private static WorkloadProfile profile(int number) {
    return new WorkloadProfile(0.5, 0.25, 0.5, 1 + number);
  }

  private static OnlineDevice device(int number, SharingState state) {
    return new OnlineDevice("device-" + number, TYPE, state, profile(number));
  }

  private static OfflineJob job(int number, Optional<String> device, Duration move) {
    return job(number, device, move, Set.of());
  }

  private static OfflineJob job(
      int number, Optional<String> device, Duration move, Set<String> barred) {
    return new OfflineJob("job-" + number, profile(number), device, move, barred);
  }

  private static List<OfflineJob> waiting(int count) {
    List<OfflineJob> jobs = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      jobs.add(job(i, Optional.empty(), Duration.ofMinutes(1)));
    }
    return jobs;
  }

  private static OfflinePlacement placement(double[][] speeds) {
    SpeedPredictor predictor =
        (online, offline, _) ->
            speeds[(int) online.separateMillis() - 1][(int) offline.separateMillis() - 1];
    return new OfflinePlacement(
        Map.of(TYPE, predictor), MultiprocessorShare.Complement.STANDARD, INTERVAL);
  }

  private static Map<String, String> places(List<Placement> plan) {
    Map<String, String> places = new HashMap<>();
    plan.forEach(place -> places.put(place.job(), place.device()));
    return places;
  }

  private static List<OnlineDevice> two(SharingState first) {
    return List.of(device(0, first), device(1, SharingState.HEALTHY));
  }

  @Test
  void plan_muxFlowsFigure9_is1Point6() {
    List<Placement> plan = placement(FIGURE_9).plan(two(SharingState.HEALTHY), waiting(2));

    assertEquals(Map.of("job-1", "device-0", "job-0", "device-1"), places(plan));
    assertEquals(1.6, plan.stream().mapToDouble(Placement::predicted).sum(), 1e-9);
    assertEquals(0.7, plan.getFirst().share(), 1e-9);
  }

  @Test
  void plan_devicesThatAreNotHealthy_getNothing() {
    for (SharingState state : SharingState.values()) {
      if (state != SharingState.HEALTHY) {
        assertEquals(
            Map.of("job-0", "device-1"), places(placement(FIGURE_9).plan(two(state), waiting(3))));
      }
    }
  }

  @Test
  void plan_moreJobsThanDevices_theFirstAreServed() {
    List<Placement> plan = placement(FIGURE_9).plan(two(SharingState.HEALTHY), waiting(3));

    assertEquals(2, plan.size());
    assertTrue(places(plan).keySet().containsAll(List.of("job-0", "job-1")), plan::toString);
  }

  @Test
  void plan_aRunningJob_movesOnlyWhereTheGainExceedsTheCost() {
    double[][] speeds = {{0.80}, {0.85}};
    Optional<String> here = Optional.of("device-0");

    assertEquals(
        Map.of("job-0", "device-0"),
        places(
            placement(speeds)
                .plan(two(SharingState.HEALTHY), List.of(job(0, here, Duration.ofMinutes(1))))));
    assertEquals(
        Map.of("job-0", "device-1"),
        places(
            placement(speeds)
                .plan(two(SharingState.HEALTHY), List.of(job(0, here, Duration.ofSeconds(10))))));
  }

  @Test
  void plan_aWaitingJob_isPlacedThoughAMoveTakesTheWholeInterval() {
    OfflineJob waiting = job(0, Optional.empty(), INTERVAL);

    assertEquals(
        Map.of("job-0", "device-1"),
        places(placement(FIGURE_9).plan(two(SharingState.HEALTHY), List.of(waiting))));
  }

  @Test
  void plan_aDeviceThatCannotRunAJob_isNotGivenIt() {
    OfflinePlacement placement = placement(new double[][] {{0.5, 0.6}, {0.9, 0.5}});
    List<OnlineDevice> devices = two(SharingState.HEALTHY);
    Optional<String> none = Optional.empty();
    OfflineJob job = job(0, none, Duration.ZERO, Set.of("device-1"));
    OfflineJob other = job(1, none, Duration.ZERO);

    // It would be faster there.
    assertEquals(Map.of("job-0", "device-0"), places(placement.plan(devices, List.of(job))));
    assertEquals(
        Map.of("job-0", "device-0", "job-1", "device-1"),
        places(placement.plan(devices, List.of(job, other))));
    OfflineJob nowhere = job(0, none, Duration.ZERO, Set.of("device-0", "device-1"));
    assertTrue(placement.plan(devices, List.of(nowhere)).isEmpty());
  }

  @Test
  void plan_aTypeWithoutPredictor_isNamed() {
    OnlineDevice other = new OnlineDevice("a", "L4", SharingState.HEALTHY, profile(0));

    StatusException refused =
        assertThrows(
            StatusException.class, () -> placement(FIGURE_9).plan(List.of(other), waiting(1)));

    assertTrue(String.valueOf(refused.getMessage()).contains("L4"), refused::toString);
  }

  @Test
  void plan_withoutJobsOrDevices_isEmpty() {
    assertTrue(placement(FIGURE_9).plan(List.of(), waiting(2)).isEmpty());
    assertTrue(placement(FIGURE_9).plan(two(SharingState.HEALTHY), List.of()).isEmpty());
  }
}
