package io.pipelane.switcher;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import java.util.List;

/**
 * One inference, decoded and checked against the model's declaration.
 *
 * @param inputs in the order of the model's declaration, all present
 * @param outputs names of the outputs wanted, in the order wanted
 */
public record InferenceRequest(ModelVersion model, List<InputTensor> inputs, List<String> outputs) {
  public InferenceRequest {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  /** Bytes of all inputs. */
  public long inputBytes() {
    long bytes = 0;
    for (InputTensor input : inputs) {
      bytes += input.data().byteSize();
    }
    return bytes;
  }
}
