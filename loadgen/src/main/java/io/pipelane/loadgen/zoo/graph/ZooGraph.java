package io.pipelane.loadgen.zoo.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A model without the values of its weights.
 *
 * @param operatorSet the version of ONNX's operators that the nodes are of
 * @param graph nodes, inputs, outputs and constants
 * @param weights initializers that the graph lacks
 * @param state names of inputs that are what an output was in the step before, by the outputs'
 */
public record ZooGraph(
    int operatorSet, GraphProto graph, List<Weight> weights, Map<String, String> state) {
  private static final Set<String> OPERATORS = Set.of("Conv", "Gemm", "MatMul", "LSTM", "RNN");

  /** The number of parameters as papers and libraries count them. */
  public long parameters() {
    return weights.stream().filter(Weight::trained).mapToLong(Weight::elements).sum();
  }

  /** Convolutions, matrix products by weights and recurrent layers. */
  public long layers() {
    Set<String> names = weights.stream().map(Weight::name).collect(Collectors.toSet());
    return graph.getNodeList().stream()
        .filter(node -> OPERATORS.contains(node.getOpType()))
        .filter(node -> node.getInputList().stream().anyMatch(names::contains))
        .count();
  }

  /** The bytes of all weights, statistics included. */
  public long weightBytes() {
    return weights.stream().mapToLong(Weight::bytes).sum();
  }
}
