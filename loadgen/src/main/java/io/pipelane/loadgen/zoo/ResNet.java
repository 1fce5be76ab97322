package io.pipelane.loadgen.zoo;

import io.pipelane.loadgen.zoo.ImageLayers.Features;
import io.pipelane.loadgen.zoo.ImageLayers.Kernel;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;

/**
 * Residual networks with bottleneck blocks: He et al., Deep Residual Learning for Image
 * Recognition, table 1, with the stride in the 3×3 convolution as torchvision has it.
 */
final class ResNet {
  private static final int EXPANSION = 4;
  private static final int IMAGE = 224;
  private static final int STEM = 64;
  private static final Kernel POINT = Kernel.square(1, 1, 0);

  /** Small, because the branches of up to 50 blocks are added up. */
  private static final double BRANCH_GAIN = 0.25;

  private final ImageLayers layers;

  private ResNet(ImageLayers layers) {
    this.layers = layers;
  }

  /**
   * Builds the network.
   *
   * @param stages the number of blocks at each resolution
   */
  static void build(GraphBuilder graph, int... stages) {
    new ResNet(new ImageLayers(graph, 1e-5)).build(stages);
  }

  private void build(int... stages) {
    Features features =
        layers.convolution("conv1", layers.image(IMAGE), STEM, Kernel.square(7, 2, 3));
    features = layers.rectify("relu", layers.normalize("bn1", features));
    features = layers.maximumPool("maxpool", features, 3, 2, 1);
    for (int stage = 0; stage < stages.length; stage++) {
      for (int block = 0; block < stages[stage]; block++) {
        int stride = stage > 0 && block == 0 ? 2 : 1;
        features =
            bottleneck("layer%d.%d".formatted(stage + 1, block), features, STEM << stage, stride);
      }
    }
    String vector = layers.flatten("flatten", layers.globalAverage("avgpool", features));
    layers.classify("fc", vector, features.channels());
  }

  private Features bottleneck(String name, Features input, int width, int stride) {
    Features branch = unit(name, 1, input, width, POINT);
    branch = unit(name, 2, branch, width, Kernel.square(3, stride, 1));
    branch = layers.convolution(name + ".conv3", branch, width * EXPANSION, POINT);
    branch = layers.normalize(name + ".bn3", branch, BRANCH_GAIN);
    Features straight = input;
    if (input.channels() != branch.channels()) {
      straight =
          layers.convolution(
              name + ".downsample.0", input, branch.channels(), Kernel.square(1, stride, 0));
      straight = layers.normalize(name + ".downsample.1", straight);
    }
    return layers.rectify(name + ".relu3", layers.add(name + ".add", branch, straight));
  }

  private Features unit(String name, int number, Features input, int channels, Kernel kernel) {
    Features features = layers.convolution(name + ".conv" + number, input, channels, kernel);
    features = layers.normalize(name + ".bn" + number, features);
    return layers.rectify(name + ".relu" + number, features);
  }
}
