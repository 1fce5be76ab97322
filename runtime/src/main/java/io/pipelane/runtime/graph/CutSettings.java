package io.pipelane.runtime.graph;

/**
 * How finely a graph is cut.
 *
 * @param minimumSegmentBytes no segment but one that ends the graph or cannot be cut has less
 * @param maximumSegments at most so many segments, one more than gates
 * @param readInPlace whether tables may stay in host memory, where the graph's target allows it
 */
public record CutSettings(long minimumSegmentBytes, int maximumSegments, boolean readInPlace) {
  public static final CutSettings DEFAULT = new CutSettings(1 << 20, 32);

  /** Tables stay in host memory where they may. */
  public CutSettings(long minimumSegmentBytes, int maximumSegments) {
    this(minimumSegmentBytes, maximumSegments, true);
  }

  public CutSettings {
    if (minimumSegmentBytes < 1 || maximumSegments < 1) {
      throw new IllegalArgumentException(
          "segments: at least 1 byte and 1 segment, not %d and %d"
              .formatted(minimumSegmentBytes, maximumSegments));
    }
  }
}
