package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.graph.content.Scopes;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * The order in which a graph's nodes are executed: the file's, which must be topological, except
 * that nodes that depend on no input of the graph come just before their first reader.
 *
 * <p>Such nodes (a {@code DequantizeLinear} of a weight) often stand at the beginning of a file;
 * run there they would need every weight before anything else could start.
 */
final class NodeOrder {
  private NodeOrder() {}

  /**
   * Orders the nodes.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the file's order is not
   *     topological (a cycle has none) or a name has two producers
   */
  static List<NodeProto> of(GraphProto graph) {
    List<NodeProto> nodes = graph.getNodeList();
    Map<String, Integer> producer = producers(graph);
    int[] position = IntStream.range(0, nodes.size()).toArray();
    int[] firstReader = new int[nodes.size()];
    Arrays.fill(firstReader, Integer.MAX_VALUE);
    boolean[] dependsOnInput = dependsOnInput(graph, producer);
    for (int k = nodes.size() - 1; k >= 0; k--) {
      if (!dependsOnInput[k] && firstReader[k] != Integer.MAX_VALUE) {
        position[k] = firstReader[k];
      }
      for (String name : Scopes.reads(nodes.get(k))) {
        Integer source = producer.get(name);
        if (source != null) {
          firstReader[source] = Math.min(firstReader[source], position[k]);
        }
      }
    }
    return IntStream.range(0, nodes.size())
        .boxed()
        .sorted(Comparator.comparingInt(k -> position[k]))
        .map(nodes::get)
        .toList();
  }

  private static boolean[] dependsOnInput(GraphProto graph, Map<String, Integer> producer) {
    Set<String> constants = Scopes.constants(graph);
    Set<String> inputs = new HashSet<>();
    graph.getInputList().stream().map(ValueInfoProto::getName).forEach(inputs::add);
    inputs.removeAll(constants);
    boolean[] depends = new boolean[graph.getNodeCount()];
    for (int k = 0; k < depends.length; k++) {
      for (String name : Scopes.reads(graph.getNode(k))) {
        Integer source = producer.get(name);
        depends[k] |= inputs.contains(name) || (source != null && depends[source]);
      }
    }
    return depends;
  }

  /** Which node produces a name, having checked that each is produced once and before its use. */
  private static Map<String, Integer> producers(GraphProto graph) {
    Set<String> known = new HashSet<>(Scopes.constants(graph));
    graph.getInputList().stream().map(ValueInfoProto::getName).forEach(known::add);
    Map<String, Integer> producer = new HashMap<>();
    for (int k = 0; k < graph.getNodeCount(); k++) {
      NodeProto node = graph.getNode(k);
      for (String name : Scopes.reads(node)) {
        if (!known.contains(name)) {
          throw refused(node, "reads \"" + name + "\" before anything has produced it");
        }
      }
      for (String name : node.getOutputList()) {
        if (!name.isEmpty() && !known.add(name)) {
          throw refused(node, "produces \"" + name + "\", which exists already");
        }
        producer.put(name, k);
      }
    }
    return producer;
  }

  private static StatusException refused(NodeProto node, String reason) {
    return new StatusException(
        Status.INVALID_ARGUMENT,
        "node \"%s\" (%s) %s".formatted(node.getName(), node.getOpType(), reason));
  }
}
