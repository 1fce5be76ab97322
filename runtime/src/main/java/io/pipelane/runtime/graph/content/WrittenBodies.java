package io.pipelane.runtime.graph.content;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The bodies of {@code If}, {@code Loop} and {@code Scan} as ONNX Runtime writes them: each
 * constant as it was read, which may be a node or external data of the file that was read, and
 * after it as it lies in the file that is written. That one stays here.
 */
final class WrittenBodies {
  private WrittenBodies() {}

  /** A node whose bodies have each constant once. */
  static NodeProto withoutDoubles(NodeProto node) {
    if (Scopes.bodies(node).isEmpty()) {
      return node;
    }
    NodeProto.Builder edited = node.toBuilder();
    for (AttributeProto.Builder attribute : edited.getAttributeBuilderList()) {
      if (attribute.hasG()) {
        attribute.setG(withoutDoubles(attribute.getG()));
      }
      for (int i = 0; i < attribute.getGraphsCount(); i++) {
        attribute.setGraphs(i, withoutDoubles(attribute.getGraphs(i)));
      }
    }
    return edited.build();
  }

  private static GraphProto withoutDoubles(GraphProto body) {
    Map<String, TensorProto> last = new LinkedHashMap<>();
    body.getInitializerList().forEach(tensor -> last.put(tensor.getName(), tensor));
    GraphProto.Builder edited =
        body.toBuilder().clearInitializer().addAllInitializer(last.values()).clearNode();
    for (NodeProto node : body.getNodeList()) {
      boolean isDouble =
          node.getOpType().equals("Constant") && last.keySet().containsAll(node.getOutputList());
      if (!isDouble) {
        edited.addNode(withoutDoubles(node));
      }
    }
    return edited.build();
  }
}
