package io.pipelane.bench.residency;

import io.pipelane.switcher.simulator.SimulatedModel;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Variants of some structures, each popular in turn.
 *
 * @param label for people
 */
public record Mix(String label, List<SimulatedModel> models) {
  /** So many variants; the first is asked most where popularity is by place. */
  public static Mix of(String label, List<RecordedPlans.Structure> structures, int variants) {
    return new Mix(
        label,
        IntStream.range(0, variants)
            .mapToObj(i -> structures.get(i % structures.size()).variant(i))
            .toList());
  }

  /** The same as if a transfer and a remapping cost nothing but what the pipeline says. */
  Mix pipelineAlone() {
    return new Mix(
        label,
        models.stream()
            .map(m -> new SimulatedModel(m.name(), m.plan(), m.pipeline(), 0, 0))
            .toList());
  }

  /** Room for a share of all weights, and for the largest model at least. */
  public long memoryBytes(double share, long pageBytes) {
    long largest = models.stream().mapToLong(m -> m.plan().weightBytes()).max().orElse(0);
    return Math.max(Math.round(share * bytes()), Math.ceilDiv(largest, pageBytes) * pageBytes);
  }

  public long bytes() {
    return models.stream().mapToLong(model -> model.plan().weightBytes()).sum();
  }
}
