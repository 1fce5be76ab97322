package io.pipelane.loadgen.zoo;

import io.pipelane.loadgen.zoo.ImageLayers.Features;
import io.pipelane.loadgen.zoo.ImageLayers.Kernel;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;

/**
 * Wide convolutions and very wide connected layers: Sermanet et al., OverFeat: Integrated
 * Recognition, Localization and Detection using Convolutional Networks, table 1, the fast model.
 */
final class OverFeat {
  private static final int IMAGE = 231;
  private static final int FINAL_POSITIONS = 6 * 6;
  private static final int FIRST_HIDDEN = 3072;
  private static final int SECOND_HIDDEN = 4096;

  private OverFeat() {}

  static void build(GraphBuilder graph) {
    ImageLayers layers = new ImageLayers(graph, 0);
    Features features = layers.image(IMAGE);
    features = unit(layers, 1, features, 96, Kernel.square(11, 4, 0));
    features = layers.maximumPool("pool1", features, 2, 2, 0);
    features = unit(layers, 2, features, 256, Kernel.square(5, 1, 0));
    features = layers.maximumPool("pool2", features, 2, 2, 0);
    features = unit(layers, 3, features, 512, Kernel.square(3, 1, 1));
    features = unit(layers, 4, features, 1024, Kernel.square(3, 1, 1));
    features = unit(layers, 5, features, 1024, Kernel.square(3, 1, 1));
    features = layers.maximumPool("pool5", features, 2, 2, 0);
    int inputs = features.channels() * FINAL_POSITIONS;
    String vector = layers.flatten("flatten", features);
    vector = layers.hidden("fc6", vector, inputs, FIRST_HIDDEN);
    vector = layers.hidden("fc7", vector, FIRST_HIDDEN, SECOND_HIDDEN);
    layers.classify("fc8", vector, SECOND_HIDDEN);
  }

  private static Features unit(
      ImageLayers layers, int index, Features input, int channels, Kernel kernel) {
    String name = "conv" + index;
    return layers.rectify(name + ".relu", layers.biasedConvolution(name, input, channels, kernel));
  }
}
