package io.pipelane.loadgen.zoo.training;

import static io.pipelane.loadgen.zoo.graph.Attribute.integer;
import static io.pipelane.loadgen.zoo.graph.Attribute.integers;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto.Dimension;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The shapes of a graph's tensors, for the operators that the image classifiers are made of. The
 * batch's dimension is {@link #OPEN}.
 */
final class TensorShapes {
  static final long OPEN = -1;

  private final Map<String, List<Long>> shapes = new HashMap<>();

  /** Works them out from inputs, weights and stated shapes onwards. */
  static TensorShapes of(GraphBuilder builder) {
    TensorShapes shapes = new TensorShapes();
    GraphProto graph = builder.graph();
    graph.getInputList().forEach(shapes::put);
    graph.getValueInfoList().forEach(shapes::put);
    builder.weights().forEach(weight -> shapes.shapes.put(weight.name(), weight.shape()));
    graph
        .getInitializerList()
        .forEach(constant -> shapes.shapes.put(constant.getName(), constant.getDimsList()));
    graph.getNodeList().forEach(shapes::put);
    return shapes;
  }

  /**
   * The shape of a tensor.
   *
   * @throws IllegalArgumentException when it is not known
   */
  List<Long> of(String tensor) {
    return find(tensor)
        .orElseThrow(
            () -> new IllegalArgumentException("the shape of \"" + tensor + "\" is not known"));
  }

  private Optional<List<Long>> find(String tensor) {
    return Optional.ofNullable(shapes.get(tensor));
  }

  private void put(ValueInfoProto value) {
    List<Long> shape =
        value.getType().getTensorType().getShape().getDimList().stream()
            .map(TensorShapes::size)
            .toList();
    shapes.put(value.getName(), shape);
  }

  private static long size(Dimension dimension) {
    return dimension.hasDimValue() ? dimension.getDimValue() : OPEN;
  }

  /** What follows from an operator that is not known stays unknown. */
  private void put(NodeProto node) {
    Optional<List<Long>> shape =
        switch (node.getOpType()) {
          case "Relu", "Sigmoid", "Exp", "Neg", "Softplus", "LogSoftmax", "BatchNormalization" ->
              find(node.getInput(0));
          case "Add", "Sub", "Mul" ->
              both(node).map(inputs -> broadcast(inputs.getFirst(), inputs.getLast()));
          case "Conv" -> both(node).map(inputs -> convolved(node, inputs));
          case "MaxPool", "AveragePool" -> find(node.getInput(0)).map(image -> pooled(node, image));
          case "GlobalAveragePool" ->
              find(node.getInput(0)).map(image -> List.of(image.get(0), image.get(1), 1L, 1L));
          case "Flatten" -> find(node.getInput(0)).map(TensorShapes::flattened);
          case "Gemm", "MatMul" ->
              both(node).map(inputs -> product(node, inputs.getFirst(), inputs.getLast()));
          case "Concat" -> concatenated(node);
          default -> Optional.empty();
        };
    shape.ifPresent(found -> shapes.putIfAbsent(node.getOutput(0), found));
  }

  private Optional<List<List<Long>>> both(NodeProto node) {
    return find(node.getInput(0))
        .flatMap(first -> find(node.getInput(1)).map(second -> List.of(first, second)));
  }

  /** Where one of two dimensions is 1, or not there, the other one counts. */
  private static List<Long> broadcast(List<Long> one, List<Long> other) {
    List<Long> wide = one.size() >= other.size() ? one : other;
    List<Long> narrow = one.size() >= other.size() ? other : one;
    List<Long> shape = new ArrayList<>(wide);
    int missing = wide.size() - narrow.size();
    for (int i = 0; i < narrow.size(); i++) {
      if (wide.get(missing + i) == 1) {
        shape.set(missing + i, narrow.get(i));
      }
    }
    return shape;
  }

  private static List<Long> convolved(NodeProto node, List<List<Long>> inputs) {
    List<Long> image = inputs.getFirst();
    List<Long> filters = inputs.getLast();
    return windows(node, image, filters.get(0), filters.subList(2, 4));
  }

  private static List<Long> pooled(NodeProto node, List<Long> image) {
    return windows(node, image, image.get(1), integers(node, "kernel_shape"));
  }

  /** The image of what windows that move over an image give. */
  private static List<Long> windows(
      NodeProto node, List<Long> image, long channels, List<Long> kernel) {
    List<Long> pads = integers(node, "pads", 0L, 0L, 0L, 0L);
    List<Long> strides = integers(node, "strides", 1L, 1L);
    boolean isUpwards = integer(node, "ceil_mode", 0) == 1;
    List<Long> shape = new ArrayList<>(List.of(image.get(0), channels));
    for (int i = 0; i < 2; i++) {
      long room = image.get(2 + i) + pads.get(i) + pads.get(2 + i) - kernel.get(i);
      long stride = strides.get(i);
      shape.add((isUpwards ? Math.ceilDiv(room, stride) : room / stride) + 1);
    }
    return shape;
  }

  /** From the second dimension on; an open one may only be the first. */
  private static List<Long> flattened(List<Long> shape) {
    return List.of(
        shape.getFirst(), shape.stream().skip(1).reduce(1L, (a, b) -> Math.multiplyExact(a, b)));
  }

  private static List<Long> product(NodeProto node, List<Long> left, List<Long> right) {
    boolean isTransposed = integer(node, "transB", 0) == 1;
    return List.of(left.getFirst(), isTransposed ? right.getFirst() : right.getLast());
  }

  private Optional<List<Long>> concatenated(NodeProto node) {
    int axis = Math.toIntExact(integer(node, "axis", 0));
    List<Long> shape = new ArrayList<>();
    for (String input : node.getInputList()) {
      Optional<List<Long>> part = find(input);
      if (part.isEmpty()) {
        return Optional.empty();
      }
      if (shape.isEmpty()) {
        shape.addAll(part.get());
      } else {
        shape.set(axis, shape.get(axis) + part.get().get(axis));
      }
    }
    return Optional.of(Collections.unmodifiableList(shape));
  }
}
