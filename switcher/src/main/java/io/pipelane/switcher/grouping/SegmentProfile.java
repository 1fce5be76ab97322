package io.pipelane.switcher.grouping;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * The computing times of a structure's segments, for the shapes that it is run with most.
 *
 * @param structure its hash
 * @param shapes each of them once
 */
public record SegmentProfile(String structure, List<ShapeTimes> shapes) {
  public SegmentProfile {
    shapes = List.copyOf(shapes);
  }

  /**
   * The times for one combination of input shapes.
   *
   * @param shapes in words, such as {@code x FP32[8,3,224,224]}
   * @param segmentNanos by segment, smoothed over runs
   * @param weight how often it has been run lately, against the others
   */
  public record ShapeTimes(String shapes, List<Long> segmentNanos, double weight) {
    public ShapeTimes {
      segmentNanos = List.copyOf(segmentNanos);
    }

    long totalNanos() {
      return segmentNanos.stream().mapToLong(Long::longValue).sum();
    }
  }

  /** The times for the shapes run most often lately, which is what groups are chosen for. */
  public Optional<ShapeTimes> usual() {
    return shapes.stream().max(Comparator.comparingDouble(ShapeTimes::weight));
  }

  String usualShapes() {
    return usual().map(ShapeTimes::shapes).orElse("");
  }
}
