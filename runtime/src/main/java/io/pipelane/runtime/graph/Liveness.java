package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.content.Scopes;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The spans in the order of execution in which values are needed that may pass a gate; constants
 * are not values.
 *
 * @param spans in the order of definition, inputs first
 * @param answers outputs of the graph that may pass a gate
 * @param blocked positions before which a value is live that cannot pass a gate
 */
record Liveness(Map<String, Span> spans, Set<String> answers, Set<Integer> blocked) {

  /**
   * A value's life.
   *
   * @param definedAt position of its producer, -1 for an input of the graph
   * @param lastReadAt position of its last reader, {@code definedAt} when there is none
   */
  record Span(int definedAt, int lastReadAt) {
    boolean crosses(int position) {
      return definedAt < position && lastReadAt >= position;
    }
  }

  /**
   * Finds the lives.
   *
   * @param host its values are left out: they do not pass gates
   */
  static Liveness of(GraphProto graph, List<NodeProto> order, ElementTypes types, HostValues host) {
    Map<String, Span> spans = new LinkedHashMap<>();
    Set<String> constants = Scopes.constants(graph);
    graph.getInputList().stream()
        .map(ValueInfoProto::getName)
        .filter(name -> !constants.contains(name))
        .forEach(name -> spans.put(name, new Span(-1, -1)));
    for (int k = 0; k < order.size(); k++) {
      int position = k;
      for (String name : Scopes.reads(order.get(k))) {
        spans.computeIfPresent(name, (n, span) -> new Span(span.definedAt(), position));
      }
      order.get(k).getOutputList().stream()
          .filter(name -> !name.isEmpty())
          .forEach(name -> spans.put(name, new Span(position, position)));
    }
    spans.keySet().removeAll(host.ungated());
    Set<String> impassable = impassable(graph, order);
    int unknown = types.hasStrings() ? TensorType.BYTES.onnx() : 0; // It may be strings as well.
    spans.keySet().stream()
        .filter(name -> types.of(name).orElse(unknown) == TensorType.BYTES.onnx())
        .forEach(impassable::add);
    Set<String> answers = new HashSet<>();
    graph.getOutputList().forEach(output -> answers.add(output.getName()));
    answers.retainAll(spans.keySet());
    answers.removeAll(impassable);
    return new Liveness(spans, answers, blocked(spans, impassable));
  }

  /**
   * Up to which position a gate has to wait for a value, if it is the first one behind the value's
   * producer: to the last reader, or to the end for an answer; -1 for what cannot pass.
   */
  int neededUntil(String name) {
    if (answers.contains(name)) {
      return Integer.MAX_VALUE;
    }
    Span span = spans.get(name);
    return span == null ? -1 : span.lastReadAt;
  }

  /** Whether every value that is live before the node at a position can pass a gate. */
  boolean mayCut(int position) {
    return !blocked.contains(position);
  }

  private static Set<Integer> blocked(Map<String, Span> spans, Set<String> impassable) {
    Set<Integer> blocked = new HashSet<>();
    for (String name : impassable) {
      Span span = spans.get(name);
      if (span != null) {
        for (int k = span.definedAt() + 1; k <= span.lastReadAt(); k++) {
          blocked.add(k);
        }
      }
    }
    return blocked;
  }

  /** Sequences, optionals, maps and sparse tensors: a gate passes tensors of numbers only. */
  static Set<String> impassable(GraphProto graph, List<NodeProto> order) {
    Set<String> names = new HashSet<>();
    Stream.of(graph.getInputList(), graph.getValueInfoList(), graph.getOutputList())
        .flatMap(List::stream)
        .filter(value -> !isTensor(value.getType()))
        .forEach(value -> names.add(value.getName()));
    order.stream()
        .filter(
            node -> node.getOpType().contains("Sequence") || node.getOpType().contains("Optional"))
        .forEach(node -> names.addAll(node.getOutputList()));
    return names;
  }

  private static boolean isTensor(TypeProto type) {
    return switch (type.getValueCase()) {
      case TENSOR_TYPE, VALUE_NOT_SET -> true;
      case SEQUENCE_TYPE, MAP_TYPE, OPAQUE_TYPE, SPARSE_TENSOR_TYPE, OPTIONAL_TYPE -> false;
    };
  }
}
