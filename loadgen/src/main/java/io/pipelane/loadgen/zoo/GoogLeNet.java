package io.pipelane.loadgen.zoo;

import io.pipelane.loadgen.zoo.ImageLayers.Features;
import io.pipelane.loadgen.zoo.ImageLayers.Kernel;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import java.util.List;

/**
 * The first network of inception blocks: Szegedy et al., Going Deeper with Convolutions, table 1,
 * as torchvision has it: with normalisations, kernels of 3 in place of 5, without auxiliary
 * classifiers.
 */
final class GoogLeNet {
  private static final int IMAGE = 224;
  private static final Kernel POINT = Kernel.square(1, 1, 0);
  private static final Kernel THREE = Kernel.square(3, 1, 1);

  private final ImageLayers layers;

  private GoogLeNet(ImageLayers layers) {
    this.layers = layers;
  }

  /** The channels of a block's four branches, and of those in front of two of them. */
  private record Widths(int point, int before3, int three, int before5, int five, int pooled) {}

  static void build(GraphBuilder graph) {
    new GoogLeNet(new ImageLayers(graph, 1e-3)).build();
  }

  private void build() {
    Features features = layers.unit("conv1", layers.image(IMAGE), 64, Kernel.square(7, 2, 3));
    features = layers.maximumPoolUpwards("maxpool1", features, 3, 2);
    features = layers.unit("conv2", features, 64, POINT);
    features = layers.unit("conv3", features, 192, THREE);
    features = layers.maximumPoolUpwards("maxpool2", features, 3, 2);
    features = block("inception3a", features, new Widths(64, 96, 128, 16, 32, 32));
    features = block("inception3b", features, new Widths(128, 128, 192, 32, 96, 64));
    features = layers.maximumPoolUpwards("maxpool3", features, 3, 2);
    features = block("inception4a", features, new Widths(192, 96, 208, 16, 48, 64));
    features = block("inception4b", features, new Widths(160, 112, 224, 24, 64, 64));
    features = block("inception4c", features, new Widths(128, 128, 256, 24, 64, 64));
    features = block("inception4d", features, new Widths(112, 144, 288, 32, 64, 64));
    features = block("inception4e", features, new Widths(256, 160, 320, 32, 128, 128));
    features = layers.maximumPoolUpwards("maxpool4", features, 2, 2);
    features = block("inception5a", features, new Widths(256, 160, 320, 32, 128, 128));
    features = block("inception5b", features, new Widths(384, 192, 384, 48, 128, 128));
    String vector = layers.flatten("flatten", layers.globalAverage("avgpool", features));
    layers.classify("fc", vector, features.channels());
  }

  private Features block(String name, Features input, Widths widths) {
    Features point = layers.unit(name + ".branch1", input, widths.point(), POINT);
    Features three = layers.unit(name + ".branch2.0", input, widths.before3(), POINT);
    three = layers.unit(name + ".branch2.1", three, widths.three(), THREE);
    Features five = layers.unit(name + ".branch3.0", input, widths.before5(), POINT);
    five = layers.unit(name + ".branch3.1", five, widths.five(), THREE);
    Features pooled = layers.maximumPool(name + ".branch4.0", input, 3, 1, 1);
    pooled = layers.unit(name + ".branch4.1", pooled, widths.pooled(), POINT);
    return layers.concatenate(name, List.of(point, three, five, pooled));
  }
}
