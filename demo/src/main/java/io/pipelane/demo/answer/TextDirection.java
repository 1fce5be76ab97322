package io.pipelane.demo.answer;

import io.pipelane.demo.protocol.Tensor;

/**
 * The direction of a line of text: which way up it is.
 *
 * @param confidence 0.5 to 1
 */
public record TextDirection(boolean upsideDown, double confidence) {
  /**
   * Reads the classifier's output.
   *
   * @param probabilities FP32 [1,2]: upright, upside down
   */
  public static TextDirection of(Tensor probabilities) {
    float[] values = probabilities.floats();
    boolean upsideDown = values[1] > values[0];
    return new TextDirection(upsideDown, upsideDown ? values[1] : values[0]);
  }
}
