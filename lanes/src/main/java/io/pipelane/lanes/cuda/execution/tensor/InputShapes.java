package io.pipelane.lanes.cuda.execution.tensor;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.TensorSpec;
import java.util.Comparator;
import java.util.List;

/** The types and exact shapes of a request's inputs: what a capture is good for. */
public record InputShapes(List<TensorSpec> inputs) {
  public InputShapes {
    inputs = inputs.stream().sorted(Comparator.comparing(TensorSpec::name)).toList();
  }

  public static InputShapes of(List<InputTensor> inputs) {
    return new InputShapes(
        inputs.stream().map(i -> new TensorSpec(i.name(), i.type(), i.shape())).toList());
  }
}
