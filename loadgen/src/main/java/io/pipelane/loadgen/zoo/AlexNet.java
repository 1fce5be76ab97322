package io.pipelane.loadgen.zoo;

import io.pipelane.loadgen.zoo.ImageLayers.Features;
import io.pipelane.loadgen.zoo.ImageLayers.Kernel;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;

/**
 * The first deep network to win ImageNet's contest: Krizhevsky, One weird trick for parallelizing
 * convolutional neural networks, as torchvision has it.
 */
final class AlexNet {
  private static final int IMAGE = 224;
  private static final int FINAL_POSITIONS = 6 * 6;
  private static final int HIDDEN = 4096;

  private AlexNet() {}

  static void build(GraphBuilder graph) {
    ImageLayers layers = new ImageLayers(graph, 0);
    Features features = layers.image(IMAGE);
    features = unit(layers, 0, features, 64, new Kernel(11, 11, 4, 2, 2));
    features = layers.maximumPool("features.2", features, 3, 2, 0);
    features = unit(layers, 3, features, 192, Kernel.square(5, 1, 2));
    features = layers.maximumPool("features.5", features, 3, 2, 0);
    features = unit(layers, 6, features, 384, Kernel.square(3, 1, 1));
    features = unit(layers, 8, features, 256, Kernel.square(3, 1, 1));
    features = unit(layers, 10, features, 256, Kernel.square(3, 1, 1));
    features = layers.maximumPool("features.12", features, 3, 2, 0);
    int inputs = features.channels() * FINAL_POSITIONS;
    String vector = layers.flatten("flatten", features);
    vector = layers.hidden("classifier.1", vector, inputs, HIDDEN);
    vector = layers.hidden("classifier.4", vector, HIDDEN, HIDDEN);
    layers.classify("classifier.6", vector, HIDDEN);
  }

  private static Features unit(
      ImageLayers layers, int index, Features input, int channels, Kernel kernel) {
    String name = "features." + index;
    return layers.rectify(
        "features." + (index + 1), layers.biasedConvolution(name, input, channels, kernel));
  }
}
