package io.pipelane.server;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto.Dimension;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import com.google.protobuf.ByteString;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Models for which values, not shapes, say how much memory and time a run takes. */
final class ValueModels {
  /** Counts up to the input "n": as many INT64 as that says. */
  static final String COUNT = "count";

  /** Adds 1 to nothing as often as the input "n" says. */
  static final String REPEAT = "repeat";

  private static final long IR_VERSION = 8;
  private static final long OPERATOR_SET = 17;
  private static final TensorProto.DataType INT64 = TensorProto.DataType.INT64;
  private static final TensorProto.DataType FLOAT = TensorProto.DataType.FLOAT;
  private static final TensorProto.DataType BOOL = TensorProto.DataType.BOOL;

  private ValueModels() {}

  /** Writes version 1 of both into a repository. */
  static void write(Path repository) throws IOException {
    write(
        repository,
        graph(COUNT)
            .addInput(row("n", INT64))
            .addOutput(row("y", INT64, -1))
            .addInitializer(number("zero", INT64, 0L))
            .addInitializer(number("one", INT64, 1L))
            .addNode(node("Squeeze", "limit", "n"))
            .addNode(node("Range", "y", "zero", "limit", "one"))
            .build());
    GraphProto body =
        graph("body")
            .addInput(scalar("i", INT64))
            .addInput(scalar("goes_on", BOOL))
            .addInput(row("sum", FLOAT))
            .addOutput(scalar("goes_on_then", BOOL))
            .addOutput(row("sum_then", FLOAT))
            .addInitializer(number("step", FLOAT, 1f))
            .addNode(node("Identity", "goes_on_then", "goes_on"))
            .addNode(node("Add", "sum_then", "sum", "step"))
            .build();
    AttributeProto repeated =
        AttributeProto.newBuilder()
            .setName("body")
            .setType(AttributeProto.AttributeType.GRAPH)
            .setG(body)
            .build();
    write(
        repository,
        graph(REPEAT)
            .addInput(row("n", INT64))
            .addInput(row("x", FLOAT))
            .addOutput(row("y", FLOAT))
            .addInitializer(number("always", BOOL, true))
            .addNode(node("Squeeze", "times", "n"))
            .addNode(node("Loop", "y", "times", "always", "x").toBuilder().addAttribute(repeated))
            .build());
  }

  private static GraphProto.Builder graph(String name) {
    return GraphProto.newBuilder().setName(name);
  }

  private static NodeProto node(String operator, String output, String... inputs) {
    NodeProto.Builder node = NodeProto.newBuilder().setOpType(operator).addOutput(output);
    for (String input : inputs) {
      node.addInput(input);
    }
    return node.build();
  }

  private static ValueInfoProto row(String name, TensorProto.DataType type) {
    return row(name, type, 1);
  }

  private static ValueInfoProto row(String name, TensorProto.DataType type, long width) {
    Dimension.Builder dimension = Dimension.newBuilder();
    if (width < 0) {
      dimension.setDimParam("any");
    } else {
      dimension.setDimValue(width);
    }
    return value(name, type, TensorShapeProto.newBuilder().addDim(dimension).build());
  }

  private static ValueInfoProto scalar(String name, TensorProto.DataType type) {
    return value(name, type, TensorShapeProto.getDefaultInstance());
  }

  private static ValueInfoProto value(
      String name, TensorProto.DataType type, TensorShapeProto shape) {
    return ValueInfoProto.newBuilder()
        .setName(name)
        .setType(
            TypeProto.newBuilder()
                .setTensorType(
                    TypeProto.Tensor.newBuilder().setElemType(type.getNumber()).setShape(shape)))
        .build();
  }

  private static TensorProto number(String name, TensorProto.DataType type, Object value) {
    TensorProto.Builder number =
        TensorProto.newBuilder().setName(name).setDataType(type.getNumber());
    switch (value) {
      case Long whole -> number.addInt64Data(whole);
      case Float real -> number.addFloatData(real);
      case Boolean flag -> number.setRawData(ByteString.copyFrom(new byte[] {flag ? (byte) 1 : 0}));
      default -> throw new IllegalArgumentException(value.toString());
    }
    return number.build();
  }

  private static void write(Path repository, GraphProto graph) throws IOException {
    Path version = Files.createDirectories(repository.resolve(graph.getName()).resolve("1"));
    Files.write(
        version.resolve("model.onnx"),
        ModelProto.newBuilder()
            .setIrVersion(IR_VERSION)
            .addOpsetImport(OperatorSetIdProto.newBuilder().setDomain("").setVersion(OPERATOR_SET))
            .setGraph(graph)
            .build()
            .toByteArray());
  }
}
