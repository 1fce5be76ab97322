package io.pipelane.loadgen.zoo;

import io.pipelane.loadgen.zoo.ImageLayers.Features;
import io.pipelane.loadgen.zoo.ImageLayers.Kernel;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import java.util.List;

/**
 * Inception v3: Szegedy et al., Rethinking the Inception Architecture for Computer Vision, table 1,
 * as torchvision has it for inference, without the auxiliary classifier.
 */
final class InceptionV3 {
  private static final int IMAGE = 299;
  private static final Kernel POINT = Kernel.square(1, 1, 0);
  private static final Kernel THREE = Kernel.square(3, 1, 1);
  private static final Kernel HALVING = Kernel.square(3, 2, 0);

  private final ImageLayers layers;

  private InceptionV3(ImageLayers layers) {
    this.layers = layers;
  }

  static void build(GraphBuilder graph) {
    new InceptionV3(new ImageLayers(graph, 1e-3)).build();
  }

  private void build() {
    Features features = layers.unit("Conv2d_1a_3x3", layers.image(IMAGE), 32, HALVING);
    features = layers.unit("Conv2d_2a_3x3", features, 32, Kernel.square(3, 1, 0));
    features = layers.unit("Conv2d_2b_3x3", features, 64, THREE);
    features = layers.maximumPool("maxpool1", features, 3, 2, 0);
    features = layers.unit("Conv2d_3b_1x1", features, 80, POINT);
    features = layers.unit("Conv2d_4a_3x3", features, 192, Kernel.square(3, 1, 0));
    features = layers.maximumPool("maxpool2", features, 3, 2, 0);
    features = inceptionA("Mixed_5b", features, 32);
    features = inceptionA("Mixed_5c", features, 64);
    features = inceptionA("Mixed_5d", features, 64);
    features = inceptionB("Mixed_6a", features);
    features = inceptionC("Mixed_6b", features, 128);
    features = inceptionC("Mixed_6c", features, 160);
    features = inceptionC("Mixed_6d", features, 160);
    features = inceptionC("Mixed_6e", features, 192);
    features = inceptionD("Mixed_7a", features);
    features = inceptionE("Mixed_7b", features);
    features = inceptionE("Mixed_7c", features);
    String vector = layers.flatten("flatten", layers.globalAverage("avgpool", features));
    layers.classify("fc", vector, features.channels());
  }

  private Features inceptionA(String name, Features input, int poolChannels) {
    Features single = layers.unit(name + ".branch1x1", input, 64, POINT);
    Features five = layers.unit(name + ".branch5x5_1", input, 48, POINT);
    five = layers.unit(name + ".branch5x5_2", five, 64, Kernel.square(5, 1, 2));
    Features doubled = layers.unit(name + ".branch3x3dbl_1", input, 64, POINT);
    doubled = layers.unit(name + ".branch3x3dbl_2", doubled, 96, THREE);
    doubled = layers.unit(name + ".branch3x3dbl_3", doubled, 96, THREE);
    Features pooled = pooledUnit(name, input, poolChannels);
    return layers.concatenate(name, List.of(single, five, doubled, pooled));
  }

  private Features inceptionB(String name, Features input) {
    Features three = layers.unit(name + ".branch3x3", input, 384, HALVING);
    Features doubled = layers.unit(name + ".branch3x3dbl_1", input, 64, POINT);
    doubled = layers.unit(name + ".branch3x3dbl_2", doubled, 96, THREE);
    doubled = layers.unit(name + ".branch3x3dbl_3", doubled, 96, HALVING);
    Features pooled = layers.maximumPool(name + ".branch_pool", input, 3, 2, 0);
    return layers.concatenate(name, List.of(three, doubled, pooled));
  }

  private Features inceptionC(String name, Features input, int width) {
    Features single = layers.unit(name + ".branch1x1", input, 192, POINT);
    Features seven = layers.unit(name + ".branch7x7_1", input, width, POINT);
    seven = layers.unit(name + ".branch7x7_2", seven, width, Kernel.row(7));
    seven = layers.unit(name + ".branch7x7_3", seven, 192, Kernel.column(7));
    Features doubled = layers.unit(name + ".branch7x7dbl_1", input, width, POINT);
    doubled = layers.unit(name + ".branch7x7dbl_2", doubled, width, Kernel.column(7));
    doubled = layers.unit(name + ".branch7x7dbl_3", doubled, width, Kernel.row(7));
    doubled = layers.unit(name + ".branch7x7dbl_4", doubled, width, Kernel.column(7));
    doubled = layers.unit(name + ".branch7x7dbl_5", doubled, 192, Kernel.row(7));
    Features pooled = pooledUnit(name, input, 192);
    return layers.concatenate(name, List.of(single, seven, doubled, pooled));
  }

  private Features inceptionD(String name, Features input) {
    Features three = layers.unit(name + ".branch3x3_1", input, 192, POINT);
    three = layers.unit(name + ".branch3x3_2", three, 320, HALVING);
    Features seven = layers.unit(name + ".branch7x7x3_1", input, 192, POINT);
    seven = layers.unit(name + ".branch7x7x3_2", seven, 192, Kernel.row(7));
    seven = layers.unit(name + ".branch7x7x3_3", seven, 192, Kernel.column(7));
    seven = layers.unit(name + ".branch7x7x3_4", seven, 192, HALVING);
    Features pooled = layers.maximumPool(name + ".branch_pool", input, 3, 2, 0);
    return layers.concatenate(name, List.of(three, seven, pooled));
  }

  private Features inceptionE(String name, Features input) {
    Features single = layers.unit(name + ".branch1x1", input, 320, POINT);
    Features three = layers.unit(name + ".branch3x3_1", input, 384, POINT);
    three = split(name + ".branch3x3_2", three);
    Features doubled = layers.unit(name + ".branch3x3dbl_1", input, 448, POINT);
    doubled = layers.unit(name + ".branch3x3dbl_2", doubled, 384, THREE);
    doubled = split(name + ".branch3x3dbl_3", doubled);
    Features pooled = pooledUnit(name, input, 192);
    return layers.concatenate(name, List.of(single, three, doubled, pooled));
  }

  /** A row and a column beside each other. */
  private Features split(String name, Features input) {
    Features row = layers.unit(name + "a", input, 384, Kernel.row(3));
    Features column = layers.unit(name + "b", input, 384, Kernel.column(3));
    return layers.concatenate(name, List.of(row, column));
  }

  private Features pooledUnit(String name, Features input, int channels) {
    Features pooled = layers.averagePool(name + ".avg_pool", input, 3, 1, 1);
    return layers.unit(name + ".branch_pool", pooled, channels, POINT);
  }
}
