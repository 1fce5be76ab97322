package io.pipelane.loadgen.zoo;

import io.pipelane.loadgen.zoo.ImageLayers.Features;
import io.pipelane.loadgen.zoo.ImageLayers.Kernel;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import java.util.List;

/**
 * Plain stacks of convolutions: Simonyan and Zisserman, Very Deep Convolutional Networks for
 * Large-Scale Image Recognition, table 1.
 */
final class Vgg {
  private static final int IMAGE = 224;
  private static final int WIDTH = 64;
  private static final int WIDEST = 512;
  private static final int FINAL_POSITIONS = 7 * 7;
  private static final int HIDDEN = 4096;

  private Vgg() {}

  /**
   * Builds the network.
   *
   * @param stages the number of convolutions before each halving of the resolution, five of them
   */
  static void build(GraphBuilder graph, int... stages) {
    ImageLayers layers = new ImageLayers(graph, 0);
    Features features = layers.image(IMAGE);
    int index = 0;
    for (int stage = 0; stage < stages.length; stage++) {
      int channels = Math.min(WIDTH << stage, WIDEST);
      for (int i = 0; i < stages[stage]; i++) {
        String name = "features." + index;
        features = layers.biasedConvolution(name, features, channels, Kernel.square(3, 1, 1));
        features = layers.rectify("features." + (index + 1), features);
        index += 2;
      }
      features = layers.maximumPool("features." + index, features, 2, 2, 0);
      index++;
    }
    int inputs = features.channels() * FINAL_POSITIONS;
    String vector = layers.flatten("flatten", features);
    vector = hidden(graph, layers, "classifier.0", "classifier.1", vector, inputs);
    vector = hidden(graph, layers, "classifier.3", "classifier.4", vector, HIDDEN);
    layers.classify("classifier.6", vector, HIDDEN);
  }

  private static String hidden(
      GraphBuilder graph, ImageLayers layers, String name, String relu, String input, int inputs) {
    String connected = layers.connect(name, name, input, inputs, HIDDEN);
    return graph.node("Relu", relu, List.of(connected));
  }
}
