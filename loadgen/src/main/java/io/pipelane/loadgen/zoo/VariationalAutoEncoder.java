package io.pipelane.loadgen.zoo;

import static io.pipelane.loadgen.zoo.graph.Attribute.integer;

import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import io.pipelane.loadgen.zoo.training.Losses;
import java.util.List;

/**
 * Handwritten digits through twenty numbers and back: Kingma and Welling, Auto-Encoding Variational
 * Bayes, as PyTorch's example has it; in inference without noise, so that answers repeat.
 */
final class VariationalAutoEncoder {
  private static final int PIXELS = 28 * 28;
  private static final int HIDDEN = 400;
  private static final int CODE = 20;

  private VariationalAutoEncoder() {}

  static void build(GraphBuilder graph) {
    ImageLayers layers = new ImageLayers(graph, 0);
    Code code = encode(graph, layers);
    graph.node("Sigmoid", "reconstruction", List.of(decode(layers, code.mean())));
    graph.output("reconstruction", GraphBuilder.BATCH, PIXELS);
    graph.output("mean", GraphBuilder.BATCH, CODE);
    graph.output("log_variance", GraphBuilder.BATCH, CODE);
  }

  /**
   * Builds it for training, section 2.4 of the paper: codes are drawn by an input {@code noise}
   * [batch, 20] of normal numbers, and the loss is appendix B's divergence plus the cross entropy
   * of the pixels, from their scores, of which no logarithm becomes infinite.
   */
  static void buildLoss(GraphBuilder graph) {
    ImageLayers layers = new ImageLayers(graph, 0);
    Code code = encode(graph, layers);
    String noise = graph.input("noise", DataType.FLOAT, GraphBuilder.BATCH, CODE);
    String half = graph.real("half", 0.5);
    String logDeviation = graph.node("Mul", "log_deviation", List.of(code.logVariance(), half));
    String deviation = graph.node("Exp", "deviation", List.of(logDeviation));
    String offset = graph.node("Mul", "offset", List.of(noise, deviation));
    String drawn = graph.node("Add", "drawn", List.of(code.mean(), offset));
    String scores = decode(layers, drawn);
    Losses.mean(
        graph,
        graph.node(
            "Concat",
            "costs",
            List.of(pixels(graph, scores), divergence(graph, code, half)),
            integer("axis", 1)));
  }

  private static String pixels(GraphBuilder graph, String scores) {
    String all = graph.node("Softplus", "softplus", List.of(scores));
    String right = graph.node("Mul", "right", List.of("input", scores));
    return graph.node("Sub", "pixels", List.of(all, right));
  }

  private static String divergence(GraphBuilder graph, Code code, String half) {
    String variance = graph.node("Exp", "variance", List.of(code.logVariance()));
    String square = graph.node("Mul", "square", List.of(code.mean(), code.mean()));
    String spread = graph.node("Add", "spread", List.of(variance, square));
    String excess = graph.node("Sub", "excess", List.of(spread, code.logVariance()));
    String one = graph.real("one", 1);
    String centred = graph.node("Sub", "centred", List.of(excess, one));
    return graph.node("Mul", "divergence", List.of(centred, half));
  }

  /** The code of an image: a normal distribution for each of twenty numbers. */
  private record Code(String mean, String logVariance) {}

  private static Code encode(GraphBuilder graph, ImageLayers layers) {
    String image = graph.input("input", DataType.FLOAT, GraphBuilder.BATCH, PIXELS);
    String hidden = layers.hidden("fc1", image, PIXELS, HIDDEN);
    return new Code(
        layers.connect("fc21", "mean", hidden, HIDDEN, CODE),
        layers.connect("fc22", "log_variance", hidden, HIDDEN, CODE));
  }

  /** Returns the pixels' scores. */
  private static String decode(ImageLayers layers, String code) {
    String wide = layers.hidden("fc3", code, CODE, HIDDEN);
    return layers.connect("fc4", "fc4", wide, HIDDEN, PIXELS);
  }
}
