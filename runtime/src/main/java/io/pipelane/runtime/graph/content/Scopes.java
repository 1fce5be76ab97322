package io.pipelane.runtime.graph.content;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.SparseTensorProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The values that nodes read, the outer values that the bodies of {@code If}, {@code Loop} and
 * {@code Scan} read implicitly included.
 *
 * <p>Bodies nest at most as deep as protobuf parses messages (100 levels), so recursion is bounded.
 */
public final class Scopes {
  private Scopes() {}

  /** The graphs that a node carries in its attributes. */
  public static List<GraphProto> bodies(NodeProto node) {
    return node.getAttributeList().stream().flatMap(a -> bodies(a).stream()).toList();
  }

  private static List<GraphProto> bodies(AttributeProto attribute) {
    return attribute.hasG() ? List.of(attribute.getG()) : attribute.getGraphsList();
  }

  /** Every name that a node reads, once each; names of omitted inputs left out. */
  public static Set<String> reads(NodeProto node) {
    Set<String> names = new LinkedHashSet<>(node.getInputList());
    names.addAll(implicitReads(node));
    names.remove("");
    return names;
  }

  /** The names that a node's bodies take from outside. */
  public static Set<String> implicitReads(NodeProto node) {
    Set<String> names = new LinkedHashSet<>();
    bodies(node).forEach(body -> names.addAll(outerReads(body)));
    return names;
  }

  private static Set<String> outerReads(GraphProto body) {
    Set<String> names = new LinkedHashSet<>();
    body.getNodeList().forEach(node -> names.addAll(reads(node)));
    body.getOutputList().forEach(output -> names.add(output.getName()));
    names.removeAll(defined(body));
    return names;
  }

  /** The names that a graph defines itself. */
  static Set<String> defined(GraphProto graph) {
    Set<String> names = new HashSet<>(constants(graph));
    graph.getInputList().stream().map(ValueInfoProto::getName).forEach(names::add);
    graph.getNodeList().forEach(node -> names.addAll(node.getOutputList()));
    names.remove("");
    return names;
  }

  /** Every name in a graph and its bodies, of values and of nodes. */
  public static Set<String> allNames(GraphProto graph) {
    Set<String> names = defined(graph);
    for (NodeProto node : graph.getNodeList()) {
      names.add(node.getName());
      names.addAll(node.getInputList());
      bodies(node).forEach(body -> names.addAll(allNames(body)));
    }
    return names;
  }

  /** The names of a graph's initializers, sparse ones included. */
  public static Set<String> constants(GraphProto graph) {
    Set<String> names = new HashSet<>();
    graph.getInitializerList().stream().map(TensorProto::getName).forEach(names::add);
    graph.getSparseInitializerList().stream()
        .map(SparseTensorProto::getValues)
        .map(TensorProto::getName)
        .forEach(names::add);
    return names;
  }

  /** The node with what it reads renamed, inside its bodies as well; outputs keep their names. */
  public static NodeProto rename(NodeProto node, Map<String, String> names) {
    if (reads(node).stream().noneMatch(names::containsKey)) {
      return node;
    }
    NodeProto.Builder renamed = node.toBuilder();
    for (int i = 0; i < node.getInputCount(); i++) {
      renamed.setInput(i, names.getOrDefault(node.getInput(i), node.getInput(i)));
    }
    for (AttributeProto.Builder attribute : renamed.getAttributeBuilderList()) {
      if (attribute.hasG()) {
        attribute.setG(rename(attribute.getG(), names));
      }
      for (int i = 0; i < attribute.getGraphsCount(); i++) {
        attribute.setGraphs(i, rename(attribute.getGraphs(i), names));
      }
    }
    return renamed.build();
  }

  private static GraphProto rename(GraphProto body, Map<String, String> names) {
    Map<String, String> visible = new HashMap<>(names);
    visible.keySet().removeAll(defined(body));
    GraphProto.Builder renamed = body.toBuilder();
    for (int i = 0; i < body.getNodeCount(); i++) {
      renamed.setNode(i, rename(body.getNode(i), visible));
    }
    for (ValueInfoProto.Builder output : renamed.getOutputBuilderList()) {
      output.setName(visible.getOrDefault(output.getName(), output.getName()));
    }
    return renamed.build();
  }
}
