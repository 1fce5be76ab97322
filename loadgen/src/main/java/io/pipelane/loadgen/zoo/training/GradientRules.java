package io.pipelane.loadgen.zoo.training;

import static io.pipelane.loadgen.zoo.graph.Attribute.integer;

import ai.onnx.proto.OnnxMl.NodeProto;
import java.util.List;

/**
 * The gradients of a node's inputs, given that of its output: one rule for each operator, in
 * standard operators themselves. Those over images are {@link ImageGradients}.
 */
final class GradientRules {
  private final Gradients gradients;
  private final NodeProto node;
  private final String output;
  private final String gradient;

  private GradientRules(Gradients gradients, NodeProto node, String gradient) {
    this.gradients = gradients;
    this.node = node;
    this.output = node.getOutput(0);
    this.gradient = gradient;
  }

  /**
   * Adds a node's share to the gradients of its inputs.
   *
   * @param gradient of its output
   * @throws IllegalArgumentException when there is no rule for it
   */
  static void apply(Gradients gradients, NodeProto node, String gradient) {
    new GradientRules(gradients, node, gradient).apply();
  }

  private void apply() {
    switch (node.getOpType()) {
      case "Add" -> sum(gradient);
      case "Sub" -> sum(gradients.isNeeded(node.getInput(1)) ? node("Neg", gradient) : gradient);
      case "Mul" -> product();
      case "Neg" -> give(0, node("Neg", gradient));
      // The sign of what a rectifier lets through is 1, and that of 0 is 0.
      case "Relu" -> give(0, node("Mul", gradient, node("Sign", output)));
      case "Exp" -> give(0, node("Mul", gradient, output));
      case "Softplus" -> give(0, node("Mul", gradient, node("Sigmoid", node.getInput(0))));
      case "Sigmoid" -> give(0, node("Mul", gradient, slopeOfSigmoid()));
      case "LogSoftmax" -> give(0, ofLogSoftmax());
      case "ReduceSum" -> give(0, spread(gradient));
      case "ReduceMean" -> give(0, ofMean());
      case "Flatten", "Reshape" -> give(0, node("Reshape", gradient, node("Shape", input(0))));
      case "Concat" -> split();
      case "MatMul" -> matrices(false);
      case "Gemm" -> gemm();
      default -> ImageGradients.apply(gradients, node, gradient);
    }
  }

  private String input(int index) {
    return node.getInput(index);
  }

  private String node(String operator, String... inputs) {
    return gradients.node(operator, List.of(inputs));
  }

  /** Adds to the gradient of an input; of one that does not vary it is not needed. */
  private void give(int index, String part) {
    if (gradients.isNeeded(input(index))) {
      gradients.contribute(input(index), part);
    }
  }

  private void sum(String second) {
    checkNotBroadcast();
    give(0, gradient);
    give(1, second);
  }

  private void product() {
    checkNotBroadcast();
    for (int i = 0; i < 2; i++) {
      if (gradients.isNeeded(input(i))) {
        give(i, node("Mul", gradient, input(1 - i)));
      }
    }
  }

  /** The gradient of what was spread would have to be added up again, which no layer needs. */
  private void checkNotBroadcast() {
    for (int i = 0; i < 2; i++) {
      if (gradients.isNeeded(input(i))
          && !gradients.shape(input(i)).equals(gradients.shape(output))) {
        throw new IllegalArgumentException(
            "node \"%s\" spreads input \"%s\" over more elements; there is no rule for that"
                .formatted(node.getName(), input(i)));
      }
    }
  }

  private String slopeOfSigmoid() {
    return node("Sub", output, node("Mul", output, output));
  }

  /** {@code dx = dy - softmax(x) * sum(dy)}. */
  private String ofLogSoftmax() {
    String total =
        gradients.node(
            "ReduceSum",
            List.of(gradient, gradients.integers(List.of(-1L))),
            integer("keepdims", 1));
    return node("Sub", gradient, node("Mul", node("Exp", output), total));
  }

  /** Gives every element that was added up what their sum has. */
  private String spread(String values) {
    boolean keepsDimensions = integer(node, "keepdims", 1) == 1;
    String all = keepsDimensions ? values : node("Unsqueeze", values, input(1));
    return node("Expand", all, node("Shape", input(0)));
  }

  /**
   * Of a mean over all elements. They are counted by adding ones up: {@code Size} and what is made
   * of it would be computed on the host, which a run on a GPU could not be captured with.
   */
  private String ofMean() {
    String ones = node("Expand", gradients.real(1), node("Shape", input(0)));
    String count = gradients.node("ReduceSum", List.of(ones), integer("keepdims", 0));
    return node("Expand", node("Div", gradient, count), node("Shape", input(0)));
  }

  private void split() {
    int axis = Math.toIntExact(integer(node, "axis", 0));
    List<Long> sizes =
        node.getInputList().stream().map(part -> gradients.shape(part).get(axis)).toList();
    List<String> parts =
        gradients.node(
            "Split",
            sizes.size(),
            List.of(gradient, gradients.integers(sizes)),
            integer("axis", axis));
    for (int i = 0; i < parts.size(); i++) {
      give(i, parts.get(i));
    }
  }

  private void gemm() {
    if (integer(node, "transA", 0) == 1) {
      throw new IllegalArgumentException("there is no rule for transA of " + node.getName());
    }
    matrices(integer(node, "transB", 0) == 1);
    if (node.getInputCount() > 2 && gradients.isNeeded(input(2))) {
      String rows = gradients.integers(List.of(0L));
      give(2, gradients.node("ReduceSum", List.of(gradient, rows), integer("keepdims", 0)));
    }
  }

  /** Of {@code y = x w}, or {@code y = x wT}. */
  private void matrices(boolean isTransposed) {
    if (gradients.isNeeded(input(0))) {
      give(0, product(gradient, false, input(1), !isTransposed));
    }
    if (gradients.isNeeded(input(1))) {
      give(
          1,
          isTransposed
              ? product(gradient, true, input(0), false)
              : product(input(0), true, gradient, false));
    }
  }

  private String product(String left, boolean turnsLeft, String right, boolean turnsRight) {
    return gradients.node(
        "Gemm",
        List.of(left, right),
        integer("transA", turnsLeft ? 1 : 0),
        integer("transB", turnsRight ? 1 : 0));
  }
}
