package io.pipelane.server.catalog;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.TensorSpec;
import java.util.List;

/**
 * What the front end needs to know of a model version to check and answer requests for it.
 *
 * @param versions every version of the model that is READY, ascending
 */
public record ServedModel(
    ModelVersion version, List<Long> versions, List<TensorSpec> inputs, List<TensorSpec> outputs) {
  public ServedModel {
    versions = List.copyOf(versions);
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }
}
