package io.pipelane.cluster.simulator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.cluster.simulator.ClusterSimulator.Setting;
import io.pipelane.cluster.speed.SpeedPredictor;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Small clusters; what schemes are worth is for the benchmark to say. */
class ClusterSimulatorTest {
  private static final int DEVICES = 30;
  private static final Duration INTERVAL = Duration.ofMinutes(15);
  private static final RequestRates RATES = RequestRates.draw(DEVICES, 1);
  private static final Map<String, SpeedPredictor> PREDICTORS =
      Fleet.Assumed.SMALL.predictors(SharingWay.SPACE, 5, 1);

  private static Setting setting(VirtualCluster cluster, Fleet fleet) {
    return new Setting(cluster, fleet, RATES, INTERVAL, Duration.ofMinutes(5), 1);
  }

  private static ClusterOutcome run(VirtualCluster cluster, Scheme scheme) {
    return new ClusterSimulator(setting(cluster, Fleet.Assumed.SMALL), scheme, PREDICTORS).run();
  }

  private static VirtualCluster cluster(int place) {
    return VirtualCluster.ALL.get(place).scaledTo(DEVICES);
  }

  @Test
  void run_everyScheme_endsAllJobs() {
    for (Scheme scheme : Scheme.ALL) {
      ClusterOutcome outcome = run(cluster(1), scheme);

      boolean alone = scheme.equals(Scheme.ONLINE_ONLY);
      assertEquals(alone ? cluster(1).jobs() : 0, outcome.unfinished(), scheme.name());
      assertTrue(alone || outcome.oversold() > 0.3, scheme.name());
      assertTrue(outcome.oversold() <= 1, scheme.name());
      assertTrue(outcome.p99Millis() > outcome.meanMillis(), scheme.name());
      assertEquals(0, scheme.states() ? 0 : outcome.evictions(), scheme.name());
      assertEquals(0, scheme.matching() ? 0 : outcome.moves(), scheme.name());
    }
  }

  @Test
  void run_ofTheSameSeed_isTheSame() {
    assertEquals(run(cluster(3), Scheme.OURS), run(cluster(3), Scheme.OURS));
  }

  @Test
  void run_offlineWork_costsOnlineWorkSomethingAndRaisesUtilization() {
    ClusterOutcome alone = run(cluster(3), Scheme.ONLINE_ONLY);
    ClusterOutcome ours = run(cluster(3), Scheme.OURS);

    assertTrue(ours.meanMillis() > alone.meanMillis());
    assertTrue(ours.utilization() > alone.utilization());
    assertTrue(ours.activity() > alone.activity());
  }

  /** Fewer jobs than devices. */
  @Test
  void run_fewJobs_takeLittleLongerThanAlone() {
    ClusterOutcome outcome = run(new VirtualCluster("few", 20, 1), Scheme.OURS);

    assertTrue(outcome.oversold() > 0.7, outcome::toString);
    assertTrue(outcome.completionMinutes() > 60, outcome::toString);
  }

  /** Half of the devices are four times as fast, and weigh so much more to the matching. */
  @Test
  void run_hostsOfUnlikeDevices_jobsAreDoneSoonerWherePlacesAreMatched() {
    Fleet mixed = new Fleet.Assumed(List.of(GpuType.T4_LIKE, GpuType.H200_LIKE));
    Map<String, SpeedPredictor> predictors = mixed.predictors(SharingWay.SPACE, 40, 1);
    VirtualCluster few = new VirtualCluster("few", 60, 2);
    Scheme random = new Scheme("random", SharingWay.SPACE, false, true, true, true);
    ClusterOutcome placed = new ClusterSimulator(setting(few, mixed), random, predictors).run();
    ClusterOutcome matched =
        new ClusterSimulator(setting(few, mixed), Scheme.OURS, predictors).run();

    assertEquals(0, matched.unfinished());
    assertTrue(matched.oversold() <= 1, matched::toString);
    assertTrue(
        matched.completionMinutes() < 0.9 * placed.completionMinutes(),
        () -> matched + " and " + placed);
    assertTrue(matched.completionMinutes() < run(few, Scheme.OURS).completionMinutes());
  }

  @Test
  void setting_anIntervalThatIsNoWholeMinutes_isRefused() {
    assertThrows(
        IllegalArgumentException.class,
        () ->
            new Setting(
                cluster(0), Fleet.Assumed.SMALL, RATES, Duration.ofSeconds(90), INTERVAL, 1));
  }

  @Test
  void singleDevice_withoutOfflineWork_isTheQueueAlone() {
    SingleDevice device = SingleDevice.at(2, 1, 250, false);

    assertEquals(1 + 2 * 1.5, device.meanMillis(), 1e-6);
    assertEquals(0, device.speed());
  }
}
