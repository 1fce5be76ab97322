package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import java.util.Set;

/** The operators whose speed depends on the order of a tensor's channels. */
public final class Convolutions {
  private static final Set<String> OPERATORS = Set.of("Conv", "ConvTranspose");

  private Convolutions() {}

  /** Whether a graph has any at its top level. */
  public static boolean isIn(GraphProto graph) {
    return graph.getNodeList().stream().anyMatch(node -> OPERATORS.contains(node.getOpType()));
  }
}
