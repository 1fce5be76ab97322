package io.pipelane.loadgen.request;

import java.util.List;

/**
 * An input or output as a server describes it.
 *
 * @param shape -1 stands for a dimension left open
 */
public record TensorMetadata(String name, String datatype, List<Long> shape) {
  public TensorMetadata {
    shape = List.copyOf(shape);
  }
}
