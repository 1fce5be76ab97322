package io.pipelane.bench.residency;

import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.switcher.simulator.TracedUse;
import java.time.Duration;
import java.util.List;

/**
 * The number of variants of one structure that a device's memory serves with hardly a stall.
 *
 * @param wholeModels that fit with all their weights
 * @param served the most for which the 99th percentile of the stalls stays below the limit
 * @param at what it comes to there
 */
record Density(String memory, long wholeModels, int served, Outcome at) {
  static final double LIMIT_MILLIS = 1;
  static final double PER_SECOND = 200;
  private static final Duration LENGTH = Duration.ofMinutes(8);

  /** To this part of the number it is searched. */
  private static final int RESOLUTION = 50;

  double factor() {
    return (double) served / wholeModels;
  }

  /** Searches by halving, as more variants never stall less but for chance. */
  static Density search(
      String label,
      SimulatedDevice device,
      RecordedPlans.Structure structure,
      boolean pipelineAlone,
      long memoryBytes,
      long seed) {
    long modelBytes =
        Math.ceilDiv(structure.model().plan().weightBytes(), device.pageBytes())
            * device.pageBytes();
    int whole = Math.toIntExact(memoryBytes / modelBytes);
    int good = whole;
    int bad = 24 * whole;
    Outcome best = outcome(device, structure, pipelineAlone, memoryBytes, good, seed);
    while (bad - good > Math.max(1, good / RESOLUTION)) {
      int middle = (good + bad) / 2;
      Outcome outcome = outcome(device, structure, pipelineAlone, memoryBytes, middle, seed);
      if (outcome.p99Stall() < LIMIT_MILLIS) {
        good = middle;
        best = outcome;
      } else {
        bad = middle;
      }
    }
    return new Density(label, whole, good, best);
  }

  private static Outcome outcome(
      SimulatedDevice device,
      RecordedPlans.Structure structure,
      boolean pipelineAlone,
      long memoryBytes,
      int variants,
      long seed) {
    Mix mix = Mix.of(structure.name(), List.of(structure), variants);
    List<TracedUse> requests = Traffic.ZIPF.requests(variants, PER_SECOND, LENGTH, seed);
    return device.replay(
        pipelineAlone ? mix.pipelineAlone() : mix,
        requests,
        memoryBytes,
        ResidencyConfig.Policy.EXPECTED_STALL,
        true);
  }
}
