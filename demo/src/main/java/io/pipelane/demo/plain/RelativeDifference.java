package io.pipelane.demo.plain;

import io.pipelane.demo.protocol.Tensor;
import java.util.List;

/**
 * The relative difference of an answer from a reference: ||a - b|| / ||b||, over all FP32 outputs
 * together.
 */
public final class RelativeDifference {
  /** Two answers that differ by no more than this are equal. */
  public static final double EQUAL = 1e-5;

  /** The same where products may be rounded to TF32, as on a GPU. */
  public static final double EQUAL_ON_GPU = 2e-3;

  /** A GPU's answers, with products rounded to TF32, beside a processor's, which rounds less. */
  public static final double GPU_TO_PROCESSOR = 1e-2;

  /** The same of models that are quantized at run time. */
  public static final double QUANTIZED_GPU_TO_PROCESSOR = 1e-1;

  private RelativeDifference() {}

  /**
   * The difference of an answer from a reference; infinite where they cannot be compared: an output
   * is missing, or has another type or shape, or holds values that are no numbers.
   *
   * @param answer may list the outputs in any order
   */
  public static double of(List<Tensor> answer, List<Tensor> reference) {
    if (answer.size() != reference.size()) {
      return Double.POSITIVE_INFINITY;
    }
    double squaredDifference = 0;
    double squaredNorm = 0;
    for (Tensor expected : reference) {
      Tensor actual =
          answer.stream().filter(t -> t.name().equals(expected.name())).findFirst().orElse(null);
      if (actual == null
          || actual.type() != expected.type()
          || !actual.shape().equals(expected.shape())) {
        return Double.POSITIVE_INFINITY;
      }
      float[] a = actual.floats();
      float[] b = expected.floats();
      for (int i = 0; i < b.length; i++) {
        double difference = (double) a[i] - b[i];
        squaredDifference += difference * difference;
        squaredNorm += (double) b[i] * b[i];
      }
    }
    if (Double.isNaN(squaredDifference)) {
      return Double.POSITIVE_INFINITY;
    }
    return squaredDifference == 0 ? 0 : Math.sqrt(squaredDifference / squaredNorm);
  }
}
