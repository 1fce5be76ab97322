package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.runtime.graph.content.ModelFile;
import io.pipelane.runtime.graph.content.Scopes;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The nodes by which ONNX Runtime moves values between ordinary and a GPU's memory. It adds them
 * where kernels of both meet, and writes them into the graphs that it stores.
 */
public final class HostCopies {
  private static final String TO_HOST = "MemcpyToHost";
  private static final Set<String> OPERATORS = Set.of("MemcpyFromHost", TO_HOST);

  private HostCopies() {}

  /** How many a graph and its bodies have. */
  public static int count(GraphProto graph) {
    return count(graph, HostCopies::isCopy);
  }

  /** How many of them bring a value to ordinary memory: a run waits for each. */
  public static int toHost(GraphProto graph) {
    return count(graph, node -> isCopy(node) && node.getOpType().equals(TO_HOST));
  }

  private static int count(GraphProto graph, Predicate<NodeProto> which) {
    int copies = 0;
    for (NodeProto node : graph.getNodeList()) {
      copies += which.test(node) ? 1 : 0;
      for (GraphProto body : Scopes.bodies(node)) {
        copies += count(body, which);
      }
    }
    return copies;
  }

  /**
   * The weights that are copied to the host in every run, because a node there reads them, straight
   * or behind gates.
   *
   * @param weights names of the graph's inputs that are weights
   */
  public static Set<String> weightsRead(GraphProto graph, Set<String> weights) {
    Map<String, String> origins = new HashMap<>();
    weights.forEach(name -> origins.put(name, name));
    Set<String> read = new HashSet<>();
    for (NodeProto node : graph.getNodeList()) {
      if (node.getDomain().equals(GatedGraph.GATE_DOMAIN)) {
        for (int i = 0; i < node.getInputCount(); i++) {
          String origin = origins.get(node.getInput(i));
          if (origin != null) {
            origins.put(node.getOutput(i), origin);
          }
        }
      } else if (node.getOpType().equals(TO_HOST) && origins.containsKey(node.getInput(0))) {
        read.add(origins.getOrDefault(node.getInput(0), ""));
      }
    }
    return read;
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
