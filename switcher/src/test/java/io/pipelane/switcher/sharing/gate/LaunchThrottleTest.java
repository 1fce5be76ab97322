package io.pipelane.switcher.sharing.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A controller and a device whose load is that of online work and of the share that it gave. */
class LaunchThrottleTest {
  private static final double PERIOD = 0.1;

  /** The load that comes of the share of two looks ago, averaged as monitors do. */
  private static final class Device {
    private final Deque<Double> shares = new ArrayDeque<>();
    private double average;

    double load(double online, double offline, double share) {
      shares.addLast(share);
      double acting = shares.size() > 2 ? shares.removeFirst() : shares.getFirst();
      average += 0.5 * (online + offline * acting - average);
      return average;
    }
  }

  private final LaunchThrottle throttle = new LaunchThrottle(0.9);
  private final Device device = new Device();

  private double run(double online, double offline, int steps) {
    double load = 0;
    for (int i = 0; i < steps; i++) {
      load = device.load(online, offline, throttle.share());
      throttle.update(load, PERIOD);
    }
    return load;
  }

  @Test
  void update_loadBelowTheTarget_fullSpeed() {
    run(0.2, 0.6, 100);
    assertEquals(1, throttle.share(), 1e-9);
  }

  @Test
  void update_loadJumpsBelowTheTarget_keepsFullSpeed() {
    LaunchThrottle throttle = new LaunchThrottle(1);
    for (int i = 0; i < 100; i++) {
      assertEquals(1, throttle.update(i % 2 == 0 ? 0 : 1, 0.01), "sample " + i);
    }
  }

  @Test
  void update_onlineLoadSteps_settlesAtTheTargetWithoutSwinging() {
    run(0.2, 1, 100);
    assertEquals(0.9, run(0.2, 1, 50), 0.01);
    double worst = 0;
    run(0.6, 1, 40);
    for (int i = 0; i < 100; i++) {
      worst = Math.max(worst, Math.abs(run(0.6, 1, 1) - 0.9));
    }
    assertTrue(worst < 0.02, "four seconds after the step it is off by " + worst);
    assertEquals(0.3, throttle.share(), 0.03);
  }

  /** Long at a bound, the share leaves it with the first load on the other side. */
  @Test
  void update_afterALongOverload_doesNotWindUp() {
    run(1.4, 1, 1_000);
    assertEquals(LaunchThrottle.LEAST_SHARE, throttle.share(), 1e-9);
    run(0.1, 0.5, 15);
    assertTrue(throttle.share() > 0.5, () -> "after 1.5 s it is " + throttle.share());
    run(0.1, 0.5, 1_000);
    run(0.8, 1, 8);
    assertTrue(throttle.share() < 0.9, () -> "after 0.8 s it is " + throttle.share());
  }

  @Test
  void update_anyLoads_staysWithinBoundsAndNearTheTarget() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    for (int round = 0; round < 200; round++) {
      double online = random.nextDouble() * 0.85;
      double offline = 0.1 + random.nextDouble() * 0.9;
      double load = run(online, offline, 150);
      double share = throttle.share();
      String what = "seed %d: online %s, offline %s".formatted(seed, online, offline);
      assertTrue(share >= LaunchThrottle.LEAST_SHARE && share <= 1, what);
      double reachable = Math.clamp(0.9, online + offline * LaunchThrottle.LEAST_SHARE, 5.0);
      assertEquals(Math.min(reachable, online + offline), load, 0.03, what);
    }
  }

  /** However often somebody looks, and however much what he sees is off. */
  @ParameterizedTest
  @ValueSource(doubles = {0.01, 0.02, 0.1})
  void update_noisyLoads_staysNearTheTarget(double period) {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    double load = 0.6;
    double all = 0;
    int looks = (int) (60 / period);
    for (int i = 0; i < looks; i++) {
      load += Math.min(1, period / 0.1) * (0.6 + throttle.share() - load);
      throttle.update(Math.max(0, load + 0.05 * random.nextGaussian()), period);
      all += i < looks / 4 ? 0 : load;
    }
    assertEquals(0.9, all / (looks - looks / 4), 0.03, "seed " + seed);
  }
}
