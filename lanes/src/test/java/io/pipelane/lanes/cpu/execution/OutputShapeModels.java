package io.pipelane.lanes.cpu.execution;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import com.google.protobuf.ByteString;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.util.List;

/**
 * Models of vectors {@code x}, whose outputs' shapes follow from that of {@code x} or its values.
 */
final class OutputShapeModels {
  private OutputShapeModels() {}

  static GraphProto.Builder taking(NodeProto.Builder... nodes) {
    GraphProto.Builder graph =
        GraphProto.newBuilder().addInput(TestModels.value("x", TensorType.FP32, -1));
    for (NodeProto.Builder node : nodes) {
      graph.addNode(node);
    }
    return graph;
  }

  static ModelProto answering(GraphProto.Builder graph, String... outputs) {
    for (String output : outputs) {
      graph.addOutput(TestModels.value(output, TensorType.FP32, -1));
    }
    return TestModels.model(graph);
  }

  static ModelProto negative() {
    return answering(taking(TestModels.node("Neg", List.of("x"), "y")), "y");
  }

  /** As many elements as are not 0. */
  static ModelProto packed() {
    return answering(
        taking(
            cast("x", TensorType.BOOL, "kept"),
            TestModels.node("Compress", List.of("x", "kept"), "y")),
        "y");
  }

  private static NodeProto.Builder cast(String from, TensorType type, String to) {
    return TestModels.node("Cast", List.of(from), to)
        .addAttribute(TestModels.integer("to", type.onnx()));
  }

  /** The same in a branch, as far as the first element is not 0. */
  static ModelProto packedInABranch() {
    GraphProto.Builder then =
        GraphProto.newBuilder()
            .setName("then")
            .addNode(cast("x", TensorType.BOOL, "kept"))
            .addNode(TestModels.node("Compress", List.of("x", "kept"), "then_y"))
            .addOutput(TestModels.value("then_y", TensorType.FP32, -1));
    GraphProto.Builder otherwise =
        GraphProto.newBuilder()
            .setName("else")
            .addNode(TestModels.node("Abs", List.of("x"), "else_y"))
            .addOutput(TestModels.value("else_y", TensorType.FP32, -1));
    GraphProto.Builder graph =
        taking(
                TestModels.node("Gather", List.of("x", "zero"), "first"),
                cast("first", TensorType.BOOL, "flag"),
                TestModels.node("If", List.of("flag"), "y")
                    .addAttribute(TestModels.graph("then_branch", then))
                    .addAttribute(TestModels.graph("else_branch", otherwise)))
            .addInitializer(
                TestModels.tensor("zero", TensorType.INT64, ByteString.copyFrom(new byte[8])));
    return answering(graph, "y");
  }

  /** As many elements as the only one of {@code x} says. */
  static ModelProto counting() {
    GraphProto.Builder body =
        GraphProto.newBuilder()
            .setName("body")
            .addInput(TestModels.value("round", TensorType.INT64))
            .addInput(TestModels.value("goes_on", TensorType.BOOL))
            .addNode(TestModels.node("Identity", List.of("goes_on"), "goes_on_then"))
            .addNode(cast("round", TensorType.FP32, "number"))
            .addOutput(TestModels.value("goes_on_then", TensorType.BOOL))
            .addOutput(TestModels.value("number", TensorType.FP32));
    return answering(
        taking(
            cast("x", TensorType.INT64, "rounds"),
            TestModels.node("Loop", List.of("rounds", ""), "y")
                .addAttribute(TestModels.graph("body", body))),
        "y");
  }

  /** Those of {@code x} that {@code i} says. */
  static ModelProto gathering() {
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.value("x", TensorType.FP32, -1))
            .addInput(TestModels.value("i", TensorType.INT64, -1))
            .addNode(TestModels.node("Gather", List.of("x", "i"), "y"));
    return answering(graph, "y", "x");
  }
}
