package io.pipelane.loadgen.zoo;

import ai.onnx.proto.OnnxMl.GraphProto;
import java.util.List;

/**
 * A model without the values of its weights.
 *
 * @param operatorSet the version of ONNX's operators that the nodes are of
 * @param graph nodes, inputs, outputs and constants
 * @param weights initializers that the graph lacks
 */
record ZooGraph(int operatorSet, GraphProto graph, List<Weight> weights) {
  /** The number of parameters as papers and libraries count them. */
  long parameters() {
    return weights.stream().filter(Weight::trained).mapToLong(Weight::elements).sum();
  }

  /** The bytes of all weights, statistics included. */
  long weightBytes() {
    return weights.stream().mapToLong(Weight::bytes).sum();
  }
}
