package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.runtime.TensorType;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.stream.Stream;

/**
 * The element types of a graph's values: as it declares them, else inferred from its operators.
 *
 * <p>A gate's outputs are declared with theirs, because ONNX Runtime cannot infer the type of a
 * value of unknown rank that has passed a gate. Shapes are not: declared ones can be stale.
 */
final class ElementTypes {
  private final Map<String, Integer> types = new HashMap<>();

  private ElementTypes() {}

  /**
   * Finds the types.
   *
   * @param order the graph's nodes, producers before readers
   */
  static ElementTypes of(GraphProto graph, List<NodeProto> order) {
    ElementTypes result = new ElementTypes();
    for (TensorProto constant : graph.getInitializerList()) {
      result.types.put(constant.getName(), constant.getDataType());
    }
    Stream.of(graph.getValueInfoList(), graph.getOutputList(), graph.getInputList())
        .flatMap(List::stream)
        .filter(value -> elementType(value) != 0)
        .forEach(value -> result.types.put(value.getName(), elementType(value)));
    for (NodeProto node : order) {
      for (int i = 0; i < node.getOutputCount(); i++) {
        String name = node.getOutput(i);
        OutputTypes.of(node, i, input -> result.of(node, input))
            .ifPresent(type -> result.types.putIfAbsent(name, type));
      }
    }
    return result;
  }

  static int elementType(ValueInfoProto value) {
    return value.getType().getTensorType().getElemType();
  }

  /** A value's ONNX element type, where it is known. */
  OptionalInt of(String name) {
    Integer type = types.get(name);
    return type == null ? OptionalInt.empty() : OptionalInt.of(type);
  }

  /** Whether a value is known to be strings. */
  boolean hasStrings() {
    return types.containsValue(TensorType.BYTES.onnx());
  }

  private OptionalInt of(NodeProto node, int input) {
    return input < node.getInputCount() ? of(node.getInput(input)) : OptionalInt.empty();
  }

  /** Adds declarations for a gate's outputs; other nodes need none. */
  void declareOutputs(NodeProto node, GraphProto.Builder graph) {
    if (!node.getDomain().equals(GatedGraph.GATE_DOMAIN)) {
      return;
    }
    for (int i = 0; i < node.getInputCount(); i++) {
      Integer type = types.get(node.getInput(i));
      if (type != null) {
        types.put(node.getOutput(i), type);
        graph.addValueInfo(
            ValueInfoProto.newBuilder()
                .setName(node.getOutput(i))
                .setType(
                    TypeProto.newBuilder()
                        .setTensorType(TypeProto.Tensor.newBuilder().setElemType(type))));
      }
    }
  }
}
