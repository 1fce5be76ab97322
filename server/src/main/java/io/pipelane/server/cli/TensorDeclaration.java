package io.pipelane.server.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.util.stream.StreamSupport;

/** An input or output as a server's metadata or answer declares it. */
record TensorDeclaration(TensorSpec spec) {
  /**
   * Reads {@code {"name": ..., "datatype": ..., "shape": [...]}}.
   *
   * @throws io.pipelane.config.StatusException for a type the protocol does not have
   */
  static TensorDeclaration of(JsonNode tensor) {
    long[] shape =
        StreamSupport.stream(tensor.path("shape").spliterator(), false)
            .mapToLong(JsonNode::asLong)
            .toArray();
    return new TensorDeclaration(
        new TensorSpec(
            tensor.path("name").asText(),
            TensorType.ofName(tensor.path("datatype").asText()),
            Shape.of(shape)));
  }

  @Override
  public String toString() {
    return spec.name() + " " + spec.type() + " " + spec.shape();
  }
}
