package io.pipelane.cluster.simulator;

import io.pipelane.cluster.speed.MeasuredPair;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Pairs of made-up workloads that shared a device in the simulator's model, for speed predictors to
 * learn from: services and models other than those of the traces, and measured with noise.
 */
public final class SampledPairs {
  /** Of measured throughput (standard deviation). */
  private static final double NOISE = 0.02;

  /** How far memory traffic, which no profile has, is from what occupancy tells of it. */
  private static final double TRAFFIC_SPREAD = 0.05;

  private SampledPairs() {}

  /** Draws pairs; the same seed draws the same. */
  public static List<MeasuredPair> draw(GpuType gpu, SharingWay way, int count, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    SharingModel model = new AssumedSharing(gpu, 1);
    List<MeasuredPair> pairs = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      OnlineService online = online(random);
      OfflineModel offline = offline(random);
      double rate = random.nextDouble(0.01, 0.9) * 1e3 / online.deviceMillis();
      double share = random.nextInt(2, 21) / 20.0;
      double speed = model.shared(way, online, rate, offline, share, 1).speed();
      double measured = Math.clamp(speed * (1 + NOISE * random.nextGaussian()), 0.0, 1.0);
      pairs.add(new MeasuredPair(online.profile(rate), offline.profile(), share, measured));
    }
    return pairs;
  }

  private static OnlineService online(SplittableRandom random) {
    double occupancy = random.nextDouble(0.2, 0.6);
    return new OnlineService(
        "online",
        random.nextDouble(0.5, 6),
        random.nextDouble(2, 10),
        random.nextDouble(0.1, 0.8),
        occupancy,
        traffic(occupancy, random),
        0);
  }

  private static OfflineModel offline(SplittableRandom random) {
    double occupancy = random.nextDouble(0.3, 0.7);
    return new OfflineModel(
        "offline",
        random.nextDouble(0.6, 1),
        random.nextDouble(0.4, 1),
        occupancy,
        traffic(occupancy, random),
        random.nextDouble(50, 500),
        0);
  }

  private static double traffic(double occupancy, SplittableRandom random) {
    return Math.clamp(0.1 + 0.75 * occupancy + TRAFFIC_SPREAD * random.nextGaussian(), 0.0, 1.0);
  }
}
