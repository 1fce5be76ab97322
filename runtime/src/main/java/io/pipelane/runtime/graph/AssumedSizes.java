package io.pipelane.runtime.graph;

import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import java.util.List;

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

  /** As small as pictures and texts often are: a line of text, a sentence. */
  private static final AssumedSizes SMALL = new AssumedSizes(1, 128, 16);

  private static final int IMAGE_RANK = 4;

  /** The size of an open dimension, counted from 0, of an input with so many. */
  public long of(int dimension, int rank) {
    if (dimension == 0) {
      return first;
    }
    return rank >= IMAGE_RANK ? image : other;
  }

  /**
   * The part of a run with these sizes that one with small inputs takes, as much as the input has
   * left that shrinks most; 1 where none has open dimensions.
   *
   * @param inputs as the model declares them
   */
  public double shareOfSmall(List<TensorSpec> inputs) {
    return inputs.stream().map(TensorSpec::shape).mapToDouble(this::shareOfSmall).min().orElse(1);
  }

  private double shareOfSmall(Shape declared) {
    double share = 1;
    for (int i = 0; i < declared.rank(); i++) {
      boolean isOpen = declared.dimension(i) < 0;
      share *=
          isOpen ? Math.min(1, SMALL.of(i, declared.rank()) / (double) of(i, declared.rank())) : 1;
    }
    return share;
  }
}
