package io.pipelane.loadgen.request;

import java.util.List;

/**
 * A server's description of a model, as far as asking it needs.
 *
 * @param version that requests name; empty to let the server pick
 */
public record ModelMetadata(
    String name, String version, List<TensorMetadata> inputs, List<TensorMetadata> outputs) {
  public ModelMetadata {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  /** Of the version that the server picks. */
  public ModelMetadata(String name, List<TensorMetadata> inputs, List<TensorMetadata> outputs) {
    this(name, "", inputs, outputs);
  }
}
