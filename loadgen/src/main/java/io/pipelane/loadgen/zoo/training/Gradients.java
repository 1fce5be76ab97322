package io.pipelane.loadgen.zoo.training;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import io.pipelane.loadgen.zoo.graph.Attribute;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Reverse-mode differentiation: adds to a graph the gradients of a loss, by going through its nodes
 * from the last to the first. Griewank and Walther, Evaluating Derivatives, chapter 3.
 */
final class Gradients {
  private final GraphBuilder graph;
  private final TensorShapes shapes;

  /** Tensors that depend on what the gradients are wanted of. */
  private final Set<String> varying;

  /** What each reader of a tensor has to do with the loss; their sum is the tensor's gradient. */
  private final Map<String, List<String>> parts = new HashMap<>();

  private final Map<String, String> constants = new HashMap<>();
  private String current = "";
  private int added;

  private Gradients(GraphBuilder graph, Collection<String> wanted) {
    this.graph = graph;
    this.shapes = TensorShapes.of(graph);
    this.varying = new HashSet<>(wanted);
  }

  /**
   * Adds the gradients.
   *
   * @param loss a tensor [1]
   * @return names of the gradients by those of the tensors; a tensor that the loss does not depend
   *     on is missing
   * @throws IllegalArgumentException naming a node in between that has no rule
   */
  static Map<String, String> of(GraphBuilder graph, String loss, Collection<String> wanted) {
    return new Gradients(graph, wanted).work(loss, wanted);
  }

  private Map<String, String> work(String loss, Collection<String> wanted) {
    GraphProto forwards = graph.graph();
    for (NodeProto node : forwards.getNodeList()) {
      if (node.getInputList().stream().anyMatch(varying::contains)) {
        varying.addAll(node.getOutputList());
      }
    }
    contribute(loss, real(1));
    Map<String, String> gradients = new HashMap<>();
    for (NodeProto node : forwards.getNodeList().reversed()) {
      String output = node.getOutput(0);
      if (varying.contains(output) && parts.containsKey(output)) {
        current = node.getName();
        added = 0;
        String gradient = sum(output);
        if (wanted.contains(output)) {
          gradients.put(output, gradient);
        } else {
          GradientRules.apply(this, node, gradient);
        }
      }
    }
    return gradients;
  }

  private String sum(String tensor) {
    List<String> all = parts.getOrDefault(tensor, List.of());
    return all.size() == 1 ? all.getFirst() : node("Sum", all);
  }

  /** Whether a tensor's gradient is needed. */
  boolean isNeeded(String tensor) {
    return varying.contains(tensor);
  }

  /** Adds to the gradient of a tensor that one is needed of; of others it is not asked. */
  void contribute(String tensor, String part) {
    parts.computeIfAbsent(tensor, _ -> new ArrayList<>()).add(part);
  }

  List<Long> shape(String tensor) {
    return shapes.of(tensor);
  }

  /** A node behind the one whose rule is applied, with one output. */
  String node(String operator, List<String> inputs, Attribute... attributes) {
    return graph.node(operator, nextName(), inputs, attributes);
  }

  /** A node with several outputs. */
  List<String> node(String operator, int outputs, List<String> inputs, Attribute... attributes) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < outputs; i++) {
      names.add(nextName());
    }
    return graph.node(operator, names, inputs, attributes);
  }

  private String nextName() {
    added++;
    return current + ".gradient." + added;
  }

  /** A vector of integers, there once for all rules. */
  String integers(List<Long> values) {
    return constants.computeIfAbsent(
        "integers" + values,
        name -> graph.integers(name, values.stream().mapToLong(Long::longValue).toArray()));
  }

  /** A number without dimensions, there once for all rules. */
  String real(double value) {
    return constants.computeIfAbsent("real[" + value + "]", name -> graph.real(name, value));
  }
}
