package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.content.TensorContent;
import java.util.Map;

/** Weights as inputs of a graph. */
final class WeightInputs {
  private WeightInputs() {}

  /** A graph without its nodes, and of its initializers those that are no weights. */
  static GraphProto without(GraphProto graph, Map<String, TensorProto> weights) {
    GraphProto.Builder edited = graph.toBuilder().clearInitializer().clearNode();
    graph.getInitializerList().stream()
        .filter(tensor -> !weights.containsKey(tensor.getName()))
        .forEach(edited::addInitializer);
    return edited.build();
  }

  static ValueInfoProto declaration(TensorProto tensor) {
    return declaration(
        tensor.getName(), TensorType.ofOnnx(tensor.getDataType()), TensorContent.shape(tensor));
  }

  static ValueInfoProto declaration(String name, TensorType type, Shape shape) {
    TensorShapeProto.Builder dimensions = TensorShapeProto.newBuilder();
    for (long dimension : shape.toArray()) {
      dimensions.addDim(TensorShapeProto.Dimension.newBuilder().setDimValue(dimension));
    }
    return ValueInfoProto.newBuilder()
        .setName(name)
        .setType(
            TypeProto.newBuilder()
                .setTensorType(
                    TypeProto.Tensor.newBuilder().setElemType(type.onnx()).setShape(dimensions)))
        .build();
  }
}
