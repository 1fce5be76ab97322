package io.pipelane.loadgen.zoo.training;

import static io.pipelane.loadgen.zoo.graph.Attribute.integer;
import static io.pipelane.loadgen.zoo.graph.Attribute.integers;

import ai.onnx.proto.OnnxMl.NodeProto;
import io.pipelane.loadgen.zoo.graph.Attribute;
import java.util.Collections;
import java.util.List;

/** The rules of operators over tensors [batch, channels, height, width]. */
final class ImageGradients {
  /** All dimensions but the channels'. */
  private static final List<Long> PLACES = List.of(0L, 2L, 3L);

  private final Gradients gradients;
  private final NodeProto node;
  private final String gradient;
  private final String image;

  private ImageGradients(Gradients gradients, NodeProto node, String gradient) {
    this.gradients = gradients;
    this.node = node;
    this.gradient = gradient;
    this.image = node.getInput(0);
  }

  /**
   * Adds a node's share to the gradients of its inputs.
   *
   * @throws IllegalArgumentException when there is no rule for it
   */
  static void apply(Gradients gradients, NodeProto node, String gradient) {
    new ImageGradients(gradients, node, gradient).apply();
  }

  private void apply() {
    switch (node.getOpType()) {
      case "Conv" -> convolution();
      case "BatchNormalization" -> normalization();
      case "MaxPool" -> maximum();
      case "AveragePool" -> average();
      case "GlobalAveragePool" -> globalAverage();
      default ->
          throw new IllegalArgumentException(
              "there is no rule for the gradient of %s, the operator of node \"%s\""
                  .formatted(node.getOpType(), node.getName()));
    }
  }

  private String node(String operator, String... inputs) {
    return gradients.node(operator, List.of(inputs));
  }

  private boolean isNeeded(int input) {
    return node.getInputCount() > input && gradients.isNeeded(node.getInput(input));
  }

  private void give(int input, String part) {
    gradients.contribute(node.getInput(input), part);
  }

  private List<Long> constants(Long... values) {
    return List.of(values);
  }

  private String sum(String tensor, List<Long> axes) {
    return gradients.node(
        "ReduceSum", List.of(tensor, gradients.integers(axes)), integer("keepdims", 0));
  }

  private String reshape(String tensor, Long... shape) {
    return node("Reshape", tensor, gradients.integers(List.of(shape)));
  }

  private void convolution() {
    Window window = new Window(node, gradients.shape(node.getInput(1)).subList(2, 4));
    if (integer(node, "group", 1) != 1) {
      throw new IllegalArgumentException("no rule for the groups of node " + node.getName());
    }
    if (isNeeded(0)) {
      give(0, spread(gradient, node.getInput(1), window));
    }
    if (isNeeded(1)) {
      give(1, window.isPoint() ? ofPointFilters(window) : ofFilters(window));
    }
    if (isNeeded(2)) {
      give(2, sum(gradient, PLACES));
    }
  }

  /** Puts what came of each window back to where it came from: a transposed convolution. */
  private String spread(String values, String filters, Window window) {
    List<Long> from = gradients.shape(image);
    List<Long> to = gradients.shape(node.getOutput(0));
    long[] missing = new long[2];
    for (int i = 0; i < 2; i++) {
      missing[i] = from.get(2 + i) - window.covered(i, to.get(2 + i));
    }
    return gradients.node(
        "ConvTranspose",
        List.of(values, filters),
        integers("strides", window.strides()),
        integers("pads", window.pads()),
        integers("output_padding", missing));
  }

  /**
   * Of filters that see more than a point: a convolution of the image by the gradient, in which
   * channels and batch have changed places, and strides have become dilations.
   */
  private String ofFilters(Window window) {
    List<Long> from = gradients.shape(image);
    List<Long> to = gradients.shape(node.getOutput(0));
    long[] pads = window.pads();
    for (int i = 0; i < 2; i++) {
      // What lies behind the last window is left out, so that as many results come as filters have.
      pads[2 + i] -= from.get(2 + i) - window.covered(i, to.get(2 + i));
      if (pads[2 + i] < 0) {
        throw new IllegalArgumentException(
            "the stride of node \"%s\" leaves pixels out; no rule for its filters"
                .formatted(node.getName()));
      }
    }
    String turned =
        gradients.node(
            "Conv",
            List.of(exchanged(image), exchanged(gradient)),
            integers("dilations", window.strides()),
            integers("pads", pads));
    return exchanged(turned);
  }

  /** The first two dimensions in each other's place. */
  private String exchanged(String tensor) {
    return gradients.node("Transpose", List.of(tensor), integers("perm", 1, 0, 2, 3));
  }

  /** Of filters of one point: a matrix product over all places, which is faster. */
  private String ofPointFilters(Window window) {
    String seen = image;
    List<Long> from = gradients.shape(image);
    if (window.strides()[0] > 1) {
      String axes = gradients.integers(constants(2L, 3L));
      String strides = gradients.integers(constants(window.strides()[0], window.strides()[1]));
      String begin = gradients.integers(constants(0L, 0L));
      String end = gradients.integers(from.subList(2, 4));
      seen = node("Slice", image, begin, end, axes, strides);
    }
    List<Long> filters = gradients.shape(node.getInput(1));
    String rows = reshape(gradient, 0L, filters.get(0), -1L);
    String columns = reshape(seen, 0L, filters.get(1), -1L);
    String turned = gradients.node("Transpose", List.of(columns), integers("perm", 0, 2, 1));
    String total = sum(node("MatMul", rows, turned), constants(0L));
    return node("Reshape", total, gradients.integers(filters));
  }

  /** By gathered statistics it is a product and a sum for each channel. */
  private void normalization() {
    String scale = node.getInput(1);
    String mean = node.getInput(3);
    String epsilon = gradients.real(Attribute.real(node, "epsilon", 1e-5));
    String deviation = node("Sqrt", node("Add", node.getInput(4), epsilon));
    if (isNeeded(0)) {
      give(0, node("Mul", gradient, perChannel(node("Div", scale, deviation))));
    }
    if (isNeeded(1)) {
      String centred = node("Sub", image, perChannel(mean));
      give(1, node("Div", sum(node("Mul", gradient, centred), PLACES), deviation));
    }
    if (isNeeded(2)) {
      give(2, sum(gradient, PLACES));
    }
  }

  private String perChannel(String vector) {
    return reshape(vector, -1L, 1L, 1L);
  }

  /**
   * Each window's gradient goes to where its maximum was. No standard operator does that; but the
   * pooling itself says where, when it is asked for its second output, so it is done again.
   */
  private void maximum() {
    if (!isNeeded(0)) {
      return;
    }
    Attribute[] form =
        node.getAttributeList().stream().map(Attribute::new).toArray(Attribute[]::new);
    String places = gradients.node("MaxPool", 2, List.of(image), form).getLast();
    String flat = gradients.integers(constants(-1L));
    String zeros = node("Expand", gradients.real(0), node("Shape", image));
    String spread =
        gradients.node(
            "ScatterElements",
            List.of(
                node("Reshape", zeros, flat),
                node("Reshape", places, flat),
                node("Reshape", gradient, flat)),
            Attribute.text("reduction", "add"));
    give(0, node("Reshape", spread, node("Shape", image)));
  }

  /** Each window's gradient, in equal parts; channel by channel, as images of their own. */
  private void average() {
    if (!isNeeded(0)) {
      return;
    }
    Window window = new Window(node, integers(node, "kernel_shape"));
    boolean countsZeros = integer(node, "count_include_pad", 0) == 1;
    if (integer(node, "ceil_mode", 0) == 1 || (window.isPadded() && !countsZeros)) {
      throw new IllegalArgumentException(
          "no rule for windows of different sizes, those of node " + node.getName());
    }
    List<Long> from = gradients.shape(image);
    List<Long> to = gradients.shape(node.getOutput(0));
    String part = gradients.real(1.0 / (window.kernel(0) * window.kernel(1)));
    List<Long> filter = constants(1L, 1L, window.kernel(0), window.kernel(1));
    String equally = node("Expand", part, gradients.integers(filter));
    String images = reshape(gradient, -1L, 1L, to.get(2), to.get(3));
    give(0, reshape(spread(images, equally, window), -1L, from.get(1), from.get(2), from.get(3)));
  }

  private void globalAverage() {
    if (isNeeded(0)) {
      List<Long> from = gradients.shape(image);
      String part = node("Mul", gradient, gradients.real(1.0 / (from.get(2) * from.get(3))));
      give(0, node("Expand", part, node("Shape", image)));
    }
  }

  /** The windows that move over an image. */
  private record Window(List<Long> kernel, List<Long> stride, List<Long> padding) {
    Window(NodeProto node, List<Long> kernel) {
      this(
          kernel,
          integers(node, "strides", 1L, 1L),
          integers(node, "pads", Collections.nCopies(4, 0L).toArray(Long[]::new)));
    }

    long kernel(int axis) {
      return kernel.get(axis);
    }

    long[] strides() {
      return stride.stream().mapToLong(Long::longValue).toArray();
    }

    long[] pads() {
      return padding.stream().mapToLong(Long::longValue).toArray();
    }

    boolean isPadded() {
      return padding.stream().anyMatch(pad -> pad > 0);
    }

    boolean isPoint() {
      return kernel.equals(List.of(1L, 1L)) && !isPadded();
    }

    /** How much of the image so many windows see, from its first pixel on. */
    long covered(int axis, long windows) {
      long pads = padding.get(axis) + padding.get(2 + axis);
      return (windows - 1) * stride.get(axis) + kernel.get(axis) - pads;
    }
  }
}
