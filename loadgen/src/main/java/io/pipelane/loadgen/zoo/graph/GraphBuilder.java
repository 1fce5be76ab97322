package io.pipelane.loadgen.zoo.graph;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.LongStream;

/**
 * An ONNX graph under construction: inputs, nodes in execution order, constants, weights, outputs.
 *
 * <p>Every method that adds a tensor answers its name, for the nodes that read it.
 */
public class GraphBuilder {
  /** The dimension that is open in all models. */
  public static final String BATCH = "batch";

  private final GraphProto.Builder graph;
  private final List<Weight> weights = new ArrayList<>();
  private final Set<String> names = new HashSet<>();

  public GraphBuilder(String name) {
    graph = GraphProto.newBuilder().setName(name);
  }

  /** A graph input. A dimension is an {@code Integer}, or a {@code String} where it is open. */
  public String input(String name, DataType type, Object... dimensions) {
    graph.addInput(TensorTypes.of(unique(name), type, dimensions));
    return name;
  }

  /** Makes a tensor that some node writes an output of the graph. */
  public void output(String name, Object... dimensions) {
    graph.addOutput(TensorTypes.of(name, DataType.FLOAT, dimensions));
  }

  /** States the shape of a tensor whose dimensions ONNX's shape inference loses. */
  public void shape(String name, Object... dimensions) {
    graph.addValueInfo(TensorTypes.of(name, DataType.FLOAT, dimensions));
  }

  /** A node with one output, which it is named after. */
  public String node(String operator, String output, List<String> inputs, Attribute... attributes) {
    return node(operator, List.of(output), inputs, attributes).getFirst();
  }

  /** A node with several outputs, named after the first. */
  public List<String> node(
      String operator, List<String> outputs, List<String> inputs, Attribute... attributes) {
    outputs.forEach(this::unique);
    NodeProto.Builder node =
        NodeProto.newBuilder()
            .setName(outputs.getFirst())
            .setOpType(operator)
            .addAllInput(inputs)
            .addAllOutput(outputs);
    for (Attribute attribute : attributes) {
      node.addAttribute(attribute.proto());
    }
    graph.addNode(node);
    return outputs;
  }

  /** A parameter that training would learn. */
  public String weight(String name, Range values, long... shape) {
    weights.add(new Weight(unique(name), list(shape), values, true));
    return name;
  }

  /** A mean or a variance that a normalisation has gathered in training. */
  public String statistic(String name, Range values, long... shape) {
    weights.add(new Weight(unique(name), list(shape), values, false));
    return name;
  }

  /** A constant vector of integers, a shape for instance. */
  public String integers(String name, long... values) {
    graph.addInitializer(
        TensorProto.newBuilder()
            .setName(unique(name))
            .setDataType(DataType.INT64.getNumber())
            .addDims(values.length)
            .addAllInt64Data(list(values)));
    return name;
  }

  /** A constant integer without dimensions. */
  public String integer(String name, long value) {
    graph.addInitializer(
        TensorProto.newBuilder()
            .setName(unique(name))
            .setDataType(DataType.INT64.getNumber())
            .addInt64Data(value));
    return name;
  }

  /** A constant number without dimensions. */
  public String real(String name, double value) {
    graph.addInitializer(
        TensorProto.newBuilder()
            .setName(unique(name))
            .setDataType(DataType.FLOAT.getNumber())
            .addFloatData((float) value));
    return name;
  }

  /** A constant vector of numbers. */
  public String reals(String name, float... values) {
    TensorProto.Builder tensor =
        TensorProto.newBuilder()
            .setName(unique(name))
            .setDataType(DataType.FLOAT.getNumber())
            .addDims(values.length);
    for (float value : values) {
      tensor.addFloatData(value);
    }
    graph.addInitializer(tensor);
    return name;
  }

  /** A constant of any type, its elements as ONNX stores them. */
  public String constant(String name, DataType type, byte[] elements, long... shape) {
    graph.addInitializer(
        TensorProto.newBuilder()
            .setName(unique(name))
            .setDataType(type.getNumber())
            .addAllDims(list(shape))
            .setRawData(ByteString.copyFrom(elements)));
    return name;
  }

  /** The graph so far, without the weights. */
  public GraphProto graph() {
    return graph.build();
  }

  /** The weights so far. */
  public List<Weight> weights() {
    return List.copyOf(weights);
  }

  public ZooGraph build(int operatorSet) {
    return new ZooGraph(operatorSet, graph(), weights(), Map.of());
  }

  private static List<Long> list(long... values) {
    return LongStream.of(values).boxed().toList();
  }

  private String unique(String name) {
    if (!names.add(name)) {
      throw new IllegalStateException("the graph has a tensor named \"" + name + "\" already");
    }
    return name;
  }
}
