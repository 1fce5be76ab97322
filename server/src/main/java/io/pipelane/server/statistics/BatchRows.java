package io.pipelane.server.statistics;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import java.util.List;

/** The number of inferences that a request is, as Triton counts them: the rows of its batch. */
public final class BatchRows {
  private BatchRows() {}

  /**
   * The rows that all inputs have along a first axis that the model leaves open; 1 where there is
   * no such axis.
   *
   * @param declared the model's inputs
   * @param inputs the request's, in the same order
   */
  public static long of(List<TensorSpec> declared, List<InputTensor> inputs) {
    long rows = 0;
    for (int i = 0; i < inputs.size(); i++) {
      Shape shape = inputs.get(i).shape();
      if (shape.rank() == 0 || declared.get(i).shape().dimension(0) >= 0) {
        return 1;
      }
      long own = shape.dimension(0);
      if (i > 0 && own != rows) {
        return 1;
      }
      rows = own;
    }
    return Math.max(1, rows);
  }
}
