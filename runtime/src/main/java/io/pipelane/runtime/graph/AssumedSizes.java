package io.pipelane.runtime.graph;

/**
 * The sizes that open dimensions of a model's inputs are taken to have where its times are
 * estimated.
 *
 * @param first of an input's first dimension, mostly the batch
 * @param image of the others of an input with four dimensions or more
 * @param other of the others of one with fewer, mostly tokens
 */
public record AssumedSizes(long first, long image, long other) {
  /**
   * One item as requests mostly have it: what convolutions look at is larger than a text is long.
   */
  public static final AssumedSizes USUAL = new AssumedSizes(1, 640, 128);

  /** As small as can be, for models that refuse the usual. */
  public static final AssumedSizes LEAST = new AssumedSizes(1, 1, 1);

  private static final int IMAGE_RANK = 4;

  /** The size of an open dimension, counted from 0, of an input with so many. */
  public long of(int dimension, int rank) {
    if (dimension == 0) {
      return first;
    }
    return rank >= IMAGE_RANK ? image : other;
  }
}
