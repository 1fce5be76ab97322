package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.graph.content.Scopes;
import java.util.List;
import java.util.Optional;

/**
 * The times that nodes take, estimated from shapes: operations of products and convolutions, bytes
 * of everything else. A node of unknown shapes takes what every node takes; what a body repeats is
 * not counted.
 */
final class NodeTimes {
  /** Keeps sums from overflowing, whatever shapes a file claims. */
  private static final double MOST_SECONDS = 1_000;

  private final ValueShapes shapes;
  private final DeviceSpeed speed;

  private NodeTimes(ValueShapes shapes, DeviceSpeed speed) {
    this.shapes = shapes;
    this.speed = speed;
  }

  /** Estimates in nanoseconds, by position. */
  static long[] nanos(List<NodeProto> order, ValueShapes shapes, DeviceSpeed speed) {
    NodeTimes times = new NodeTimes(shapes, speed);
    return order.stream().mapToLong(times::nanos).toArray();
  }

  private long nanos(NodeProto node) {
    double computing = operations(node) / speed.operationsPerSecond();
    double moving = bytes(node) / speed.bytesPerSecond();
    double seconds = Math.min(MOST_SECONDS, Math.max(computing, moving));
    return speed.nodeNanos() + (long) (1e9 * seconds);
  }

  private double bytes(NodeProto node) {
    double written = node.getOutputList().stream().mapToDouble(shapes::bytes).sum();
    return switch (node.getOpType()) {
      case "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Shape", "Size" -> 0;
      case "Gather", "GatherElements", "GatherND", "Slice", "Split", "Expand" -> 2 * written;
      default -> written + Scopes.reads(node).stream().mapToDouble(shapes::bytes).sum();
    };
  }

  private double operations(NodeProto node) {
    return switch (node.getOpType()) {
      case "Conv", "FusedConv", "NhwcFusedConv", "ConvInteger" ->
          2 * written(node) * perChannel(node, 1);
      case "QLinearConv" -> 2 * written(node) * perChannel(node, 3);
      case "ConvTranspose" -> 2 * read(node, 0) * perChannel(node, 1);
      case "MatMul",
          "Gemm",
          "FusedMatMul",
          "FusedGemm",
          "MatMulInteger",
          "MatMulIntegerToFloat",
          "DynamicQuantizeMatMul",
          "MatMulNBits",
          "QLinearMatMul",
          "QGemm",
          "Einsum" ->
          2 * written(node) * innerDimension(node);
      case "LSTM", "GRU", "RNN", "DynamicQuantizeLSTM" ->
          2 * dimension(node, 0, 0) * dimension(node, 0, 1) * (read(node, 1) + read(node, 2));
      case "Attention", "MultiHeadAttention", "GroupQueryAttention" ->
          read(node, 0) * 4 * dimension(node, 0, 1)
              + 2 * dimension(node, 0, 0) * dimension(node, 0, 1) * read(node, 1);
      default -> 0;
    };
  }

  private Optional<Shape> input(NodeProto node, int index) {
    return index < node.getInputCount() ? shapes.of(node.getInput(index)) : Optional.empty();
  }

  /** Elements of an input; 0 where they are not known. */
  private double read(NodeProto node, int index) {
    return index < node.getInputCount() ? shapes.elements(node.getInput(index)) : 0;
  }

  private double written(NodeProto node) {
    return node.getOutputCount() > 0 ? shapes.elements(node.getOutput(0)) : 0;
  }

  private double dimension(NodeProto node, int index, int axis) {
    return input(node, index)
        .filter(shape -> axis < shape.rank())
        .map(shape -> shape.dimension(axis))
        .orElse(0L);
  }

  /** Elements of a filter for one channel: of the output, transposed of the input. */
  private double perChannel(NodeProto node, int index) {
    return read(node, index) / Math.max(1, dimension(node, index, 0));
  }

  /** Over how many products each element of the answer adds up. */
  private double innerDimension(NodeProto node) {
    int rank = input(node, 0).map(Shape::rank).orElse(0);
    boolean transposed =
        node.getAttributeList().stream()
            .filter(attribute -> attribute.getName().equals("transA"))
            .mapToLong(AttributeProto::getI)
            .anyMatch(value -> value != 0);
    return rank == 0 ? 0 : dimension(node, 0, transposed && rank > 1 ? rank - 2 : rank - 1);
  }
}
