package io.pipelane.runtime.graph;

import java.time.Duration;

/**
 * The settings that say how finely a graph is cut.
 *
 * @param minimumSegmentBytes no segment has less that ends where the next weights begin, but for
 *     one that cannot be cut
 * @param maximumSegments at most so many segments are cut by bytes, one more than gates
 * @param readInPlace whether tables may stay in host memory, where the graph's target allows it
 * @param longestSegment what takes longer by estimate is cut further, see {@link TimeCuts}
 */
public record CutSettings(
    long minimumSegmentBytes, int maximumSegments, boolean readInPlace, Duration longestSegment) {
  /** Longer than any run: cuts lie where weights are read first, and nowhere else. */
  public static final Duration UNLIMITED = Duration.ofDays(1);

  public static final CutSettings DEFAULT = new CutSettings(1 << 20, 32);

  /** Tables stay in host memory where they may, and segments may take any time. */
  public CutSettings(long minimumSegmentBytes, int maximumSegments) {
    this(minimumSegmentBytes, maximumSegments, true, UNLIMITED);
  }

  public CutSettings {
    if (minimumSegmentBytes < 1 || maximumSegments < 1 || !longestSegment.isPositive()) {
      throw new IllegalArgumentException(
          "segments: at least 1 byte, 1 segment and 1 ns, not %d, %d and %s"
              .formatted(minimumSegmentBytes, maximumSegments, longestSegment));
    }
  }

  /** The same with another limit of time. */
  public CutSettings withLongestSegment(Duration longest) {
    return new CutSettings(minimumSegmentBytes, maximumSegments, readInPlace, longest);
  }
}
