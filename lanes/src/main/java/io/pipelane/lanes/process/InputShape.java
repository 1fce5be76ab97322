package io.pipelane.lanes.process;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.util.List;

/** The name, type and shape of one input of a run, without its values. */
record InputShape(String name, TensorType type, Shape shape) {
  /** The shapes of a run. */
  static List<InputShape> of(List<InputTensor> inputs) {
    return inputs.stream()
        .map(input -> new InputShape(input.name(), input.type(), input.shape()))
        .toList();
  }

  /** Whether a run has these shapes; makes nothing. */
  static boolean areOf(List<InputShape> shapes, List<InputTensor> inputs) {
    boolean same = inputs.size() == shapes.size();
    for (int i = 0; same && i < shapes.size(); i++) {
      same = shapes.get(i).isOf(inputs.get(i));
    }
    return same;
  }

  private boolean isOf(InputTensor tensor) {
    return type == tensor.type() && name.equals(tensor.name()) && shape.equals(tensor.shape());
  }
}
