package io.pipelane.loadgen.request;

import java.util.List;

/**
 * Inputs that belong together.
 *
 * @param expected outputs that they should lead to; may be empty
 */
record Example(List<TensorValue> inputs, List<TensorValue> expected) {
  Example {
    inputs = List.copyOf(inputs);
    expected = List.copyOf(expected);
  }
}
