package io.pipelane.cluster.simulator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.cluster.simulator.ClusterSimulator.Setting;
import io.pipelane.cluster.simulator.MeasuredSharing.Point;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class MeasuredSharingTest {
  private static final double NEAR = 1e-9;
  private static final double NONE = Double.NaN;

  private final MeasuredSharing model =
      new MeasuredSharing(
          "card", 2, 1, List.of(new Point(100, 1, 0, 0.2, 0.1), new Point(200, 1, 0, 0.4, 0.2)));
  private final OnlineService online = model.online(12);

  MeasuredSharingTest() {
    boolean _ =
        model.add(
            SharingWay.GATES,
            1,
            List.of(
                new Point(0, NONE, 1, NONE, NONE),
                new Point(100, 0.9, 0.7, 0.8, 0.5),
                new Point(200, 1.1, 0.5, 0.9, 0.6)));
    boolean _ =
        model.add(SharingWay.SPACE, 0.2, List.of(at(0, 0.4, 1), at(100, 0.3, 1), at(200, 0.2, 1)));
    boolean _ =
        model.add(SharingWay.SPACE, 0.6, List.of(at(0, 0.8, 1), at(100, 0.7, 2), at(200, 0.6, 2)));
  }

  private static Point at(double rate, double speed, double slowdown) {
    return new Point(rate, slowdown, speed, NONE, NONE);
  }

  private Effect shared(SharingWay way, double rate, double share) {
    return model.shared(way, online, rate, MeasuredSharing.offline(), share, 1);
  }

  private double mean(Effect effect, double rate) {
    double run = effect.requestMillis();
    return online.hostMillis()
        + run * (1 + RequestWaits.at(OnlineService.utilization(rate, run)).mean());
  }

  @Test
  void shared_atMeasuredRates_isWhatWasMeasured() {
    Effect effect = shared(SharingWay.GATES, 100, 0.3);

    assertEquals(0.7, effect.speed(), NEAR);
    assertEquals(0.8, effect.utilization(), NEAR);
    assertEquals(0.5, effect.activity(), NEAR);
    assertEquals(0.9 * mean(model.alone(online, 100), 100), mean(effect, 100), 0.01);
    double alone = mean(model.alone(online, 200), 200);
    assertEquals(1.1 * alone, mean(shared(SharingWay.GATES, 200, 1), 200), 0.01);
  }

  @Test
  void shared_betweenAndBeyondRates_goesOnInLines() {
    assertEquals(0.85, shared(SharingWay.GATES, 50, 1).speed(), NEAR);
    assertEquals(0.6, shared(SharingWay.GATES, 150, 1).speed(), NEAR);
    assertEquals(0.4, shared(SharingWay.GATES, 250, 1).speed(), NEAR);
    assertEquals(0.01, shared(SharingWay.GATES, 480, 1).speed(), NEAR, "never none");
    double little = mean(model.alone(online, 20), 20);
    assertEquals(0.9 * little, mean(shared(SharingWay.GATES, 20, 1), 20), 0.01, "as at 100");
  }

  /** A device that is asked seldom falls asleep. */
  @Test
  void alone_withMeansThatNoQueueHas_isAsMeasured() {
    MeasuredSharing asleep =
        new MeasuredSharing(
            "card", 2, 1, List.of(new Point(20, 1.5, 0, 0, 0), new Point(200, 0.9, 0, 0, 0)));

    double seldom = MeasuredSharing.queueMillis(2, 1, 20);
    assertEquals(1.5 * seldom, mean(asleep.alone(online, 20), 20), 0.01);
    assertEquals(
        1.5 * MeasuredSharing.queueMillis(2, 1, 5), mean(asleep.alone(online, 5), 5), 0.01);
    double often = MeasuredSharing.queueMillis(2, 1, 200);
    assertEquals(0.9 * often, mean(asleep.alone(online, 200), 200), 0.01);
  }

  @Test
  void shared_betweenShares_isBetween() {
    assertEquals(0.5, shared(SharingWay.SPACE, 100, 0.4).speed(), NEAR);
    assertEquals(0.3, shared(SharingWay.SPACE, 100, 0.1).speed(), NEAR);
    assertEquals(0.7, shared(SharingWay.SPACE, 100, 0.9).speed(), NEAR);
    assertTrue(Double.isNaN(shared(SharingWay.SPACE, 100, 0.4).activity()));
    assertEquals(
        1.5 * mean(model.alone(online, 100), 100),
        mean(shared(SharingWay.SPACE, 100, 0.4), 100),
        0.01);
  }

  @Test
  void predictor_knowsIt() {
    double predicted =
        model
            .predictor(SharingWay.GATES)
            .normalizedThroughput(online.profile(150), MeasuredSharing.offline().profile(), 1);

    assertEquals(0.6, predicted, NEAR);
  }

  @Test
  void add_whatIsThere_countsNoMore() {
    assertFalse(model.add(SharingWay.GATES, 1, List.of(at(0, 1, 1), at(100, 0.1, 1))));

    assertEquals(0.7, shared(SharingWay.GATES, 100, 1).speed(), NEAR);
    assertTrue(model.has(SharingWay.ONLINE_ONLY));
    assertFalse(model.has(SharingWay.TIME_SLICES));
    assertThrows(
        IllegalArgumentException.class,
        () -> model.add(SharingWay.TIME_SLICES, 1, List.of(at(100, 1, 1))));
  }

  @Test
  void run_aClusterOfMeasuredDevices_endsAllJobs() {
    Fleet fleet = new Fleet.Measured(model);
    VirtualCluster cluster = VirtualCluster.ALL.get(1).scaledTo(30);
    RequestRates rates = RequestRates.draw(30, 1);
    Setting setting =
        new Setting(cluster, fleet, rates, Duration.ofMinutes(15), Duration.ofMinutes(5), 1);
    for (Scheme scheme : Scheme.ALL) {
      if (!model.has(scheme.way()) || scheme.equals(Scheme.ONLINE_ONLY)) {
        continue;
      }
      ClusterOutcome outcome =
          new ClusterSimulator(setting, scheme, fleet.predictors(scheme.way(), 1, 1)).run();

      assertEquals(0, outcome.unfinished(), scheme.name());
      assertTrue(outcome.oversold() > 0.3 && outcome.oversold() < 1, outcome::toString);
    }
  }
}
