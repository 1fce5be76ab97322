package io.pipelane.loadgen.zoo;

import io.pipelane.loadgen.zoo.ImageLayers.Features;
import io.pipelane.loadgen.zoo.ImageLayers.Kernel;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import java.util.ArrayList;
import java.util.List;

/**
 * Densely connected networks: Huang et al., Densely Connected Convolutional Networks, table 1, as
 * torchvision has them.
 */
final class DenseNet {
  private static final int IMAGE = 224;
  private static final int STEM = 64;
  private static final int GROWTH = 32;
  private static final int BOTTLENECK = 4 * GROWTH;
  private static final Kernel POINT = Kernel.square(1, 1, 0);

  private final ImageLayers layers;

  private DenseNet(ImageLayers layers) {
    this.layers = layers;
  }

  /**
   * Builds the network.
   *
   * @param blocks the number of layers of each dense block
   */
  static void build(GraphBuilder graph, int... blocks) {
    new DenseNet(new ImageLayers(graph, 1e-5)).build(blocks);
  }

  private void build(int... blocks) {
    Features features =
        layers.convolution("features.conv0", layers.image(IMAGE), STEM, Kernel.square(7, 2, 3));
    features = activate("features.norm0", features);
    features = layers.maximumPool("features.pool0", features, 3, 2, 1);
    for (int block = 1; block <= blocks.length; block++) {
      features = denseBlock("features.denseblock" + block, features, blocks[block - 1]);
      if (block < blocks.length) {
        features = transition("features.transition" + block, features);
      }
    }
    features = activate("features.norm5", features);
    String vector = layers.flatten("flatten", layers.globalAverage("avgpool", features));
    layers.classify("classifier", vector, features.channels());
  }

  /** Every layer reads what all layers before it have written. */
  private Features denseBlock(String name, Features input, int count) {
    List<Features> written = new ArrayList<>(List.of(input));
    for (int i = 1; i <= count; i++) {
      String layer = name + ".denselayer" + i;
      Features features = i == 1 ? input : layers.concatenate(layer + ".concat", written);
      features = activate(layer + ".norm1", features);
      features = layers.convolution(layer + ".conv1", features, BOTTLENECK, POINT);
      features = activate(layer + ".norm2", features);
      written.add(layers.convolution(layer + ".conv2", features, GROWTH, Kernel.square(3, 1, 1)));
    }
    return layers.concatenate(name + ".concat", written);
  }

  private Features transition(String name, Features input) {
    Features features = activate(name + ".norm", input);
    features = layers.convolution(name + ".conv", features, input.channels() / 2, POINT);
    return layers.averagePool(name + ".pool", features, 2, 2, 0);
  }

  private Features activate(String norm, Features input) {
    return layers.rectify(norm + ".relu", layers.normalize(norm, input));
  }
}
