package io.pipelane.switcher.sharing.trial;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OnlineLoadTest {
  private static final int REQUESTS = 400_000;
  private static final long MILLI = 1_000_000;

  /** The mean time of requests that arrive at random and run one after another. */
  private static double meanSeconds(double perSecond, double runSeconds, long seed) {
    Random random = new Random(seed);
    double now = 0;
    double free = 0;
    double sum = 0;
    for (int i = 0; i < REQUESTS; i++) {
      now += -Math.log(1 - random.nextDouble()) / perSecond;
      free = Math.max(now, free) + runSeconds;
      sum += free - now;
    }
    return sum / REQUESTS;
  }

  @ParameterizedTest
  @CsvSource({"100, 1.05", "250, 1.05", "250, 1.02", "320, 1.1"})
  void requestsSlower_isWhatASimulatedLineSays(double perSecond, double runsSlower) {
    double run = 0.0024;
    long seed = 1;
    double simulated =
        meanSeconds(perSecond, run * runsSlower, seed) / meanSeconds(perSecond, run, seed);
    assertEquals(
        simulated - 1,
        OnlineLoad.requestsSlower(perSecond * run, runsSlower) - 1,
        0.15 * (simulated - 1),
        "seed " + seed);
  }

  @Test
  void requestsSlower_runsThatDoNotFit_isWithoutBound() {
    assertEquals(Double.POSITIVE_INFINITY, OnlineLoad.requestsSlower(0.95, 1.1));
    assertEquals(1, OnlineLoad.requestsSlower(0.95, 1), 1e-9);
    assertEquals(1.1, OnlineLoad.requestsSlower(0, 1.1), 1e-9, "nobody waits for anybody");
  }

  @Test
  void look_rateTimesTime_isTheLoadOfEachLane() {
    OnlineLoad load = new OnlineLoad(2);
    for (int i = 0; i <= 2_000; i++) { // 20 s of 300 runs a second of 2 ms.
      for (int run = 0; run < 3; run++) {
        load.ran(2 * MILLI);
      }
      load.look(i * (10 * MILLI), 1);
    }
    assertEquals(0.3, load.load(), 0.001);
    load.look(22_000 * MILLI, 1);
    assertTrue(load.load() < 0.15, "two seconds without any: " + load.load());
  }
}
