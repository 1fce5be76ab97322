package io.pipelane.bench.switching;

/**
 * The least latency that any pipeline could have: a segment computes no earlier than the segment
 * before it is done and the last byte it reads has come over the link at its peak rate.
 */
final class LowerBound {
  private LowerBound() {}

  /**
   * The completion of the last segment.
   *
   * @param inputBytes of the request, which come over the same link first, less those of weights
   *     that need not come
   * @param ends by segment, bytes of weights that must be there before it computes; not falling
   * @param millis by segment, what it computes for
   * @param bytesPerMilli the link's peak rate
   */
  static double millis(long inputBytes, long[] ends, double[] millis, double bytesPerMilli) {
    double done = 0;
    for (int segment = 0; segment < ends.length; segment++) {
      double there = (inputBytes + ends[segment]) / bytesPerMilli;
      done = Math.max(done, there) + millis[segment];
    }
    return done;
  }
}
