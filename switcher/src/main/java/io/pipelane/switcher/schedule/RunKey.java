package io.pipelane.switcher.schedule;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.switcher.InferenceRequest;
import java.util.ArrayList;
import java.util.List;

/**
 * What runs are known by that take the same time and memory.
 *
 * @param shapes of the inputs, in the order of the model's declaration
 */
record RunKey(ModelVersion model, List<Shape> shapes) {
  RunKey {
    shapes = List.copyOf(shapes);
  }

  static RunKey of(InferenceRequest request) {
    List<Shape> shapes = new ArrayList<>(request.inputs().size());
    for (InputTensor input : request.inputs()) {
      shapes.add(input.shape());
    }
    return new RunKey(request.model(), shapes);
  }
}
