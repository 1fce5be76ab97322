package io.pipelane.demo.answer;

import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.protocol.Tensor;

/**
 * The vector that a sentence model makes of a sentence: a direction, near to that of similar
 * sentences.
 */
public final class SentenceVector {
  private final double[] unit;

  private SentenceVector(double[] direction) {
    double squares = 0;
    for (double value : direction) {
      squares += value * value;
    }
    double norm = Math.sqrt(squares);
    unit = new double[direction.length];
    for (int i = 0; i < unit.length; i++) {
      unit[i] = direction[i] / norm;
    }
  }

  /**
   * Pools the model's output as the model was trained: MiniLM takes the mean over all tokens, BGE
   * the first token.
   *
   * @param lastHiddenState FP32 [1, tokens, width], no padding among the tokens
   */
  public static SentenceVector of(DemoModel model, Tensor lastHiddenState) {
    int tokens =
        switch (model) {
          case MINILM, MINILM_Q -> Math.toIntExact(lastHiddenState.shape().dimension(1));
          case BGE_SMALL_Q -> 1;
          case PPOCR_DET, PPOCR_CLS, PPOCR_REC ->
              throw new IllegalArgumentException(model + " is no sentence model");
        };
    int width = Math.toIntExact(lastHiddenState.shape().dimension(2));
    float[] values = lastHiddenState.floats();
    double[] sum = new double[width];
    for (int i = 0; i < tokens * width; i++) {
      sum[i % width] += values[i];
    }
    return new SentenceVector(sum);
  }

  /** Cosine similarity: 1 for the same meaning, about 0 for unrelated ones. */
  public double similarityTo(SentenceVector other) {
    double product = 0;
    for (int i = 0; i < unit.length; i++) {
      product += unit[i] * other.unit[i];
    }
    return product;
  }
}
