package io.pipelane.runtime.graph;

import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;

/**
 * A constant of which a run reads a few rows: bound by address like a streamed weight, but where it
 * lies in host memory, and there from the beginning.
 *
 * @param offset bytes from the beginning of all that are read in place
 */
public record InPlaceWeight(String name, TensorType type, Shape shape, long offset, long byteSize) {

  /** The byte behind its last. */
  public long end() {
    return offset + byteSize;
  }
}
