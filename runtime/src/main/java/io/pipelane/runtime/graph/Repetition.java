package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import io.pipelane.runtime.graph.content.Scopes;
import java.util.List;

/** The operators that compute a graph as often as their inputs' values say. */
public final class Repetition {
  private Repetition() {}

  /**
   * Whether a model has any, at whatever depth. All that carry a graph count but {@code If}, which
   * computes one of its two once: {@code Loop}, {@code Scan}, {@code SequenceMap}, and ONNX
   * Runtime's own searches.
   */
  public static boolean isIn(ModelProto model) {
    return isIn(model.getGraph().getNodeList())
        || model.getFunctionsList().stream().anyMatch(function -> isIn(function.getNodeList()));
  }

  private static boolean isIn(List<NodeProto> nodes) {
    return nodes.stream()
        .anyMatch(
            node ->
                Scopes.bodies(node).stream()
                    .anyMatch(body -> !node.getOpType().equals("If") || isIn(body.getNodeList())));
  }
}
