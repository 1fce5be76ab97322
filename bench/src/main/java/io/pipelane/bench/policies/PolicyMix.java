package io.pipelane.bench.policies;

import io.pipelane.bench.model.BenchCase;
import io.pipelane.switcher.simulator.TracedUse;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The mix of cases by how often they are asked for: mostly short ones, and a few long ones.
 *
 * @param parts whose shares add up to 1
 */
record PolicyMix(List<Part> parts) {
  PolicyMix {
    parts = List.copyOf(parts);
  }

  /** A case and its share of the requests. */
  record Part(BenchCase benchCase, double share, boolean isLong) {}

  /**
   * A mix of the demo's models: short texts and small pictures, and a few large pictures.
   *
   * @param longShare of the requests that are long
   * @throws IllegalArgumentException when a case is missing
   */
  static PolicyMix of(List<BenchCase> cases, double longShare) {
    if (!(longShare > 0 && longShare < 1)) {
      throw new IllegalArgumentException("--long-share must be between 0 and 1: " + longShare);
    }
    double rest = 1 - longShare;
    return new PolicyMix(
        List.of(
            new Part(named(cases, "ppocr-cls"), 0.6 * rest, false),
            new Part(named(cases, "minilm-l6-v2 16 tokens"), 0.4 * rest, false),
            new Part(named(cases, "ppocr-v4-det"), longShare, true)));
  }

  private static BenchCase named(List<BenchCase> cases, String name) {
    return cases.stream()
        .filter(benchCase -> benchCase.name().startsWith(name))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("there is no case " + name));
  }

  List<BenchCase> cases() {
    return parts.stream().map(Part::benchCase).toList();
  }

  /**
   * Requests that come independently of each other (Poisson), each for a part by its place.
   *
   * @param perSecond of all parts together
   * @param lengthNanos of the whole
   */
  List<TracedUse> arrivals(double perSecond, long lengthNanos, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<TracedUse> arrivals = new ArrayList<>();
    double nanos = 0;
    while (nanos < lengthNanos) {
      arrivals.add(new TracedUse((long) nanos, part(random.nextDouble())));
      nanos += random.nextExponential() / perSecond * 1e9;
    }
    return arrivals;
  }

  private int part(double place) {
    double upTo = 0;
    for (int part = 0; part < parts.size() - 1; part++) {
      upTo += parts.get(part).share();
      if (place < upTo) {
        return part;
      }
    }
    return parts.size() - 1;
  }
}
