package io.pipelane.cluster.simulator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.switcher.sharing.monitor.SharingState;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The server's state machine in the simulator's minutes. */
class SimulatedDeviceTest {
  private static final Effect CALM = new Effect(1, 0.9, 0.9, 0.5, 1);
  private static final Effect SLOW = new Effect(1, 0.9, 0.9, 0.9, 0.3);

  private static SimulatedDevice device(Scheme scheme) {
    return new SimulatedDevice(
        0,
        OnlineService.ALL.getFirst(),
        new AssumedSharing(GpuType.T4_LIKE, 1),
        scheme,
        Duration.ofMinutes(5));
  }

  @Test
  void judge_overloaded_takesNoJobsUntilThePeriodIsOver() {
    SimulatedDevice device = device(Scheme.OURS);
    assertFalse(device.judge(CALM, 1, 0));
    assertEquals(SharingState.HEALTHY, device.state());

    assertTrue(device.judge(CALM, 0.5, 1));
    assertTrue(device.judge(CALM, 1, 5));
    assertFalse(device.judge(CALM, 1, 6));
    assertEquals(SharingState.UNHEALTHY, device.state());
    assertFalse(device.judge(CALM, 1, 7));
    assertEquals(SharingState.HEALTHY, device.state());
  }

  @Test
  void judge_aClockThatHasFallen_overloadsABusyDevice() {
    SimulatedDevice device = device(Scheme.OURS);

    assertTrue(device.judge(SLOW, 1, 0));
  }

  @Test
  void judge_withoutStates_isAlwaysHealthy() {
    SimulatedDevice device = device(Scheme.ONLINE_ONLY);

    assertFalse(device.judge(SLOW, 0, 0));
    assertEquals(SharingState.HEALTHY, device.state());
  }
}
