package io.pipelane.switcher.schedule.simulator;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.schedule.simulator.QueueSimulator.Arrival;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class QueueSimulatorTest {
  private static final ModelVersion SHORT = new ModelVersion("short", 1);
  private static final ModelVersion LONG = new ModelVersion("long", 1);

  private static long[] latencies(String policy, List<Arrival> arrivals) {
    SchedulingConfig config = PipelaneConfig.of(Map.of("scheduling.policy", policy)).scheduling();
    long[] latencies = new QueueSimulator(config, 1).latencyNanos(arrivals);
    return latencies;
  }

  @Test
  void latencyNanos_threeRequests_areWhatTheOrderMakesThem() {
    List<Arrival> arrivals =
        List.of(
            new Arrival(0, LONG, 1_000_000),
            new Arrival(10, LONG, 1_000_000),
            new Arrival(20, SHORT, 1_000));

    assertArrayEquals(new long[] {1_000_000, 1_999_990, 2_000_980}, latencies("fifo", arrivals));
    assertArrayEquals(new long[] {1_000_000, 2_000_990, 1_000_980}, latencies("srtf", arrivals));
  }

  /** Requests come at random: 85 % of what a lane can do, one in 125 is a hundred times longer. */
  @Test
  void srtf_shortAndLongTogether_isTwiceAsGoodAsFifoAndItsTailIsNoWorse() {
    SplittableRandom random = new SplittableRandom(1);
    List<Arrival> arrivals = new ArrayList<>();
    double nanos = 0;
    for (int i = 0; i < 50_000; i++) {
      boolean isLong = random.nextInt(125) == 0;
      arrivals.add(
          new Arrival((long) nanos, isLong ? LONG : SHORT, isLong ? 300_000_000 : 3_000_000));
      nanos += random.nextExponential() * (3_000_000 * 124 / 125.0 + 300_000_000 / 125.0) / 0.85;
    }
    long[] fifo = latencies("fifo", arrivals);
    long[] srtf = latencies("srtf", arrivals);

    assertTrue(mean(fifo) >= 2 * mean(srtf), mean(fifo) + " and " + mean(srtf));
    assertTrue(quantile(fifo, 0.5) >= 2 * quantile(srtf, 0.5), "the median");
    assertTrue(quantile(fifo, 0.99) >= quantile(srtf, 0.99), "the tail");
  }

  private static double mean(long[] nanos) {
    return Arrays.stream(nanos).average().orElseThrow();
  }

  private static long quantile(long[] nanos, double share) {
    long[] sorted = nanos.clone();
    Arrays.sort(sorted);
    return sorted[(int) (share * (sorted.length - 1))];
  }
}
