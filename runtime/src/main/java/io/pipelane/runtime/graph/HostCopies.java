package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The nodes by which ONNX Runtime moves values between ordinary and a GPU's memory. It adds them
 * where kernels of both meet, and writes them into the graphs that it stores.
 */
public final class HostCopies {
  private static final Set<String> OPERATORS = Set.of("MemcpyFromHost", "MemcpyToHost");

  private HostCopies() {}

  /** How many a graph and its bodies have. */
  public static int count(GraphProto graph) {
    int copies = 0;
    for (NodeProto node : graph.getNodeList()) {
      copies += isCopy(node) ? 1 : 0;
      for (GraphProto body : Scopes.bodies(node)) {
        copies += count(body);
      }
    }
    return copies;
  }

  /** The graph without those at its top level: a session adds what it needs by itself. */
  public static ModelFile removed(ModelFile file) {
    GraphProto graph = file.graph();
    Set<String> outputs = new HashSet<>();
    graph.getOutputList().stream().map(ValueInfoProto::getName).forEach(outputs::add);
    GraphProto.Builder edited = graph.toBuilder().clearNode();
    Map<String, String> names = new HashMap<>();
    for (NodeProto node : graph.getNodeList()) {
      NodeProto renamed = Scopes.rename(node, names);
      if (!isCopy(node)) {
        edited.addNode(renamed);
      } else if (outputs.contains(node.getOutput(0))) {
        edited.addNode(renamed.toBuilder().setOpType("Identity").clearAttribute());
      } else {
        names.put(node.getOutput(0), renamed.getInput(0));
      }
    }
    return file.with(edited.build());
  }

  private static boolean isCopy(NodeProto node) {
    return node.getDomain().isEmpty() && OPERATORS.contains(node.getOpType());
  }
}
