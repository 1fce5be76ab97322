package io.pipelane.cluster.simulator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class AssumedSharingTest {
  private static final double NEAR = 1e-9;

  private final SharingModel model = new AssumedSharing(GpuType.T4_LIKE, 1);
  private final OnlineService online = OnlineService.ALL.getLast();
  private final OfflineModel offline = OfflineModel.ALL.getFirst();

  private Effect at(SharingWay way, double rate, double share) {
    return model.shared(way, online, rate, offline, share, 1);
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "ONLINE_ONLY")
  void shared_moreRequests_leaveLessToOfflineWork(SharingWay way) {
    double before = 1;
    for (double rate = 10; rate <= 200; rate += 10) {
      Effect effect = at(way, rate, 0.6);
      assertTrue(effect.speed() > 0 && effect.speed() <= before + NEAR, way + " at " + rate);
      assertTrue(effect.requestMillis() >= online.deviceMillis(), way + " at " + rate);
      assertTrue(effect.utilization() <= 1 && effect.activity() <= 1, effect::toString);
      before = effect.speed();
    }
  }

  @Test
  void space_moreMultiprocessors_areFasterOfflineAndSlowerOnline() {
    Effect few = at(SharingWay.SPACE, 100, 0.2);
    Effect many = at(SharingWay.SPACE, 100, 0.7);

    assertTrue(many.speed() > few.speed());
    assertTrue(many.requestMillis() > few.requestMillis());
  }

  @Test
  void gatedSpace_leavesOfflineWorkMoreThanEitherAlone() {
    double both = at(SharingWay.GATED_SPACE, 100, 0.4).speed();

    assertTrue(both > at(SharingWay.GATES, 100, 0.4).speed());
    assertTrue(both > at(SharingWay.SPACE, 100, 0.4).speed());
  }

  @Test
  void space_withoutContention_isAsAlone() {
    GpuType calm = new GpuType("calm", 1, 0, 1, 0, 0.5);
    OnlineService small = new OnlineService("small", 1, 1, 0.2, 0.5, 0.5, 0);

    Effect effect =
        new AssumedSharing(calm, 1).shared(SharingWay.SPACE, small, 100, offline, 0.8, 1);

    assertEquals(1, effect.speed(), NEAR);
    assertEquals(1, effect.requestMillis(), NEAR);
  }

  @Test
  void space_aThrottle_takesItsPart() {
    Effect full = at(SharingWay.SPACE, 50, 0.4);
    Effect half = model.shared(SharingWay.SPACE, online, 50, offline, 0.4, 0.5);

    assertEquals(0.5, half.speed() / full.speed(), 0.05);
    assertTrue(half.activity() < full.activity());
  }

  @Test
  void slices_priority_protectsOnlineWork() {
    Effect equal = at(SharingWay.TIME_SLICES, 100, 1);
    Effect priority = at(SharingWay.PRIORITY_SLICES, 100, 1);
    Effect gates = at(SharingWay.GATES, 100, 1);

    assertTrue(priority.requestMillis() < equal.requestMillis());
    assertTrue(gates.requestMillis() < priority.requestMillis());
  }
}
