package io.pipelane.loadgen.request;

import java.util.List;

/** What a server says about a model, as far as asking it needs. */
public record ModelMetadata(
    String name, List<TensorMetadata> inputs, List<TensorMetadata> outputs) {
  public ModelMetadata {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }
}
