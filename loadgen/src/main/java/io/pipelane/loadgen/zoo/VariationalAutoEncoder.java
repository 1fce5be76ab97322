package io.pipelane.loadgen.zoo;

import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import java.util.List;

/**
 * Handwritten digits through twenty numbers and back: Kingma and Welling, Auto-Encoding Variational
 * Bayes, as PyTorch's example has it; without noise, so that answers repeat.
 */
final class VariationalAutoEncoder {
  private static final int PIXELS = 28 * 28;
  private static final int HIDDEN = 400;
  private static final int CODE = 20;

  private VariationalAutoEncoder() {}

  static void build(GraphBuilder graph) {
    ImageLayers layers = new ImageLayers(graph, 0);
    String image = graph.input("input", DataType.FLOAT, GraphBuilder.BATCH, PIXELS);
    String hidden = layers.hidden("fc1", image, PIXELS, HIDDEN);
    String mean = layers.connect("fc21", "mean", hidden, HIDDEN, CODE);
    layers.connect("fc22", "log_variance", hidden, HIDDEN, CODE);
    String wide = layers.hidden("fc3", mean, CODE, HIDDEN);
    String scores = layers.connect("fc4", "fc4", wide, HIDDEN, PIXELS);
    graph.node("Sigmoid", "reconstruction", List.of(scores));
    graph.output("reconstruction", GraphBuilder.BATCH, PIXELS);
    graph.output("mean", GraphBuilder.BATCH, CODE);
    graph.output("log_variance", GraphBuilder.BATCH, CODE);
  }
}
