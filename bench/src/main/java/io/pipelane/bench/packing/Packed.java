package io.pipelane.bench.packing;

import io.pipelane.bench.report.Results;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.schedule.simulator.QueueSimulator;
import io.pipelane.switcher.schedule.simulator.QueueSimulator.Arrival;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** All instances on one device, in the simulator. */
final class Packed {
  private static final String ROW = "simulated, H200";
  private static final double NANOS_PER_SECOND = 1e9;
  private static final double NANOS_PER_MILLI = 1e6;
  private static final double BYTES_PER_GIB = 1L << 30;
  private static final double TAIL = 0.99;
  private static final long SECONDS = 3_600;
  private static final long SESSION_BYTES = 15_000_000;
  private static final long LANE_BYTES = 256L << 20;
  private static final long CONTEXT_BYTES = 500_000_000;

  private final List<Instance> instances;
  private final double interval;

  /**
   * Instances that nobody has asked yet.
   *
   * @param interval seconds between the requests of each, on the average
   */
  Packed(List<Instance> instances, double interval) {
    this.instances = List.copyOf(instances);
    this.interval = interval;
  }

  /** Simulates them, and counts devices of so many bytes. */
  void tell(long deviceBytes, long seed, Results results) {
    List<Arrival> arrivals = arrivals(seed);
    long[] latencies =
        new QueueSimulator(PipelaneConfig.of(Map.of("scheduling.policy", "srtf")).scheduling(), 1)
            .latencyNanos(arrivals);
    double[] added = new double[latencies.length];
    double alone = 0;
    for (int i = 0; i < latencies.length; i++) {
      alone += arrivals.get(i).runNanos() / NANOS_PER_MILLI / latencies.length;
      added[i] = (latencies[i] - arrivals.get(i).runNanos()) / NANOS_PER_MILLI;
    }
    double mean = Arrays.stream(added).average().orElse(0);
    Arrays.sort(added);
    long together = LANE_BYTES;
    for (Instance instance : instances) {
      together += instance.weightBytes() + SESSION_BYTES;
    }
    results.add(ROW, PackingColumns.MODELS, instances.size());
    results.add(ROW, PackingColumns.RATE, instances.size() / interval);
    results.add(ROW, PackingColumns.ALONE, alone);
    results.add(ROW, PackingColumns.TOGETHER, alone + mean);
    results.add(ROW, PackingColumns.ADDED, mean);
    results.add(ROW, PackingColumns.ADDED_99, added[(int) (TAIL * (added.length - 1))]);
    results.add(ROW, PackingColumns.MEMORY, together / BYTES_PER_GIB);
    results.add(ROW, PackingColumns.DEVICES, (double) Math.ceilDiv(together, deviceBytes));
    results.add(ROW, PackingColumns.ONE_EACH, instances.size());
    results.add(ROW, PackingColumns.STATIC, partitions(deviceBytes));
  }

  private List<Arrival> arrivals(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<Arrival> arrivals = new ArrayList<>();
    for (Instance instance : instances) {
      ModelVersion model = new ModelVersion(instance.name(), 1);
      double seconds = random.nextExponential() * interval;
      while (seconds < SECONDS) {
        long nanos = (long) (seconds * NANOS_PER_SECOND);
        arrivals.add(new Arrival(nanos, model, instance.runNanos()));
        seconds += random.nextExponential() * interval;
      }
    }
    arrivals.sort(Comparator.comparingLong(Arrival::nanos));
    return arrivals;
  }

  /** Devices that partitions of fixed sizes take: first fit, the largest first. */
  private int partitions(long deviceBytes) {
    List<Long> free = new ArrayList<>();
    List<Long> sizes =
        instances.stream()
            .map(instance -> instance.weightBytes() + SESSION_BYTES + LANE_BYTES + CONTEXT_BYTES)
            .sorted(Comparator.reverseOrder())
            .toList();
    for (long size : sizes) {
      int device = 0;
      while (device < free.size() && free.get(device) < size) {
        device++;
      }
      if (device == free.size()) {
        free.add(deviceBytes);
      }
      free.set(device, free.get(device) - size);
    }
    return free.size();
  }
}
