package io.pipelane.loadgen.zoo;

import io.pipelane.loadgen.zoo.ImageLayers.Features;
import io.pipelane.loadgen.zoo.ImageLayers.Kernel;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import java.util.List;

/**
 * Inception v4: Szegedy et al., Inception-v4, Inception-ResNet and the Impact of Residual
 * Connections on Learning, figures 3 to 9, with the classes of torchvision's networks.
 */
final class InceptionV4 {
  private static final int IMAGE = 299;
  private static final Kernel POINT = Kernel.square(1, 1, 0);
  private static final Kernel THREE = Kernel.square(3, 1, 1);
  private static final Kernel INNER = Kernel.square(3, 1, 0);
  private static final Kernel HALVING = Kernel.square(3, 2, 0);

  private final ImageLayers layers;

  private InceptionV4(ImageLayers layers) {
    this.layers = layers;
  }

  static void build(GraphBuilder graph) {
    new InceptionV4(new ImageLayers(graph, 1e-3)).build();
  }

  private void build() {
    Features features = stem(layers.image(IMAGE));
    for (int i = 0; i < 4; i++) {
      features = inceptionA("inception_a" + i, features);
    }
    features = reductionA("reduction_a", features);
    for (int i = 0; i < 7; i++) {
      features = inceptionB("inception_b" + i, features);
    }
    features = reductionB("reduction_b", features);
    for (int i = 0; i < 3; i++) {
      features = inceptionC("inception_c" + i, features);
    }
    String vector = layers.flatten("flatten", layers.globalAverage("avgpool", features));
    layers.classify("last_linear", vector, features.channels());
  }

  private Features stem(Features image) {
    Features features = layers.unit("stem.0", image, 32, HALVING);
    features = layers.unit("stem.1", features, 32, INNER);
    features = layers.unit("stem.2", features, 64, THREE);
    Features pooled = layers.maximumPool("stem.3.pool", features, 3, 2, 0);
    Features halved = layers.unit("stem.3", features, 96, HALVING);
    features = layers.concatenate("stem.3.joined", List.of(pooled, halved));
    Features three = layers.unit("stem.4.three_1", features, 64, POINT);
    three = layers.unit("stem.4.three_2", three, 96, INNER);
    Features seven = layers.unit("stem.4.seven_1", features, 64, POINT);
    seven = layers.unit("stem.4.seven_2", seven, 64, Kernel.row(7));
    seven = layers.unit("stem.4.seven_3", seven, 64, Kernel.column(7));
    seven = layers.unit("stem.4.seven_4", seven, 96, INNER);
    features = layers.concatenate("stem.4.joined", List.of(three, seven));
    halved = layers.unit("stem.5", features, 192, HALVING);
    pooled = layers.maximumPool("stem.5.pool", features, 3, 2, 0);
    return layers.concatenate("stem", List.of(halved, pooled));
  }

  private Features inceptionA(String name, Features input) {
    Features single = layers.unit(name + ".single", input, 96, POINT);
    Features three = layers.unit(name + ".three_1", input, 64, POINT);
    three = layers.unit(name + ".three_2", three, 96, THREE);
    Features doubled = layers.unit(name + ".doubled_1", input, 64, POINT);
    doubled = layers.unit(name + ".doubled_2", doubled, 96, THREE);
    doubled = layers.unit(name + ".doubled_3", doubled, 96, THREE);
    Features pooled = pooledUnit(name, input, 96);
    return layers.concatenate(name, List.of(single, three, doubled, pooled));
  }

  private Features reductionA(String name, Features input) {
    Features three = layers.unit(name + ".three", input, 384, HALVING);
    Features doubled = layers.unit(name + ".doubled_1", input, 192, POINT);
    doubled = layers.unit(name + ".doubled_2", doubled, 224, THREE);
    doubled = layers.unit(name + ".doubled_3", doubled, 256, HALVING);
    Features pooled = layers.maximumPool(name + ".pool", input, 3, 2, 0);
    return layers.concatenate(name, List.of(three, doubled, pooled));
  }

  private Features inceptionB(String name, Features input) {
    Features single = layers.unit(name + ".single", input, 384, POINT);
    Features seven = layers.unit(name + ".seven_1", input, 192, POINT);
    seven = layers.unit(name + ".seven_2", seven, 224, Kernel.row(7));
    seven = layers.unit(name + ".seven_3", seven, 256, Kernel.column(7));
    Features doubled = layers.unit(name + ".doubled_1", input, 192, POINT);
    doubled = layers.unit(name + ".doubled_2", doubled, 192, Kernel.column(7));
    doubled = layers.unit(name + ".doubled_3", doubled, 224, Kernel.row(7));
    doubled = layers.unit(name + ".doubled_4", doubled, 224, Kernel.column(7));
    doubled = layers.unit(name + ".doubled_5", doubled, 256, Kernel.row(7));
    Features pooled = pooledUnit(name, input, 128);
    return layers.concatenate(name, List.of(single, seven, doubled, pooled));
  }

  private Features reductionB(String name, Features input) {
    Features three = layers.unit(name + ".three_1", input, 192, POINT);
    three = layers.unit(name + ".three_2", three, 192, HALVING);
    Features seven = layers.unit(name + ".seven_1", input, 256, POINT);
    seven = layers.unit(name + ".seven_2", seven, 256, Kernel.row(7));
    seven = layers.unit(name + ".seven_3", seven, 320, Kernel.column(7));
    seven = layers.unit(name + ".seven_4", seven, 320, HALVING);
    Features pooled = layers.maximumPool(name + ".pool", input, 3, 2, 0);
    return layers.concatenate(name, List.of(three, seven, pooled));
  }

  private Features inceptionC(String name, Features input) {
    Features single = layers.unit(name + ".single", input, 256, POINT);
    Features three = layers.unit(name + ".three_1", input, 384, POINT);
    three = split(name + ".three_2", three);
    Features doubled = layers.unit(name + ".doubled_1", input, 384, POINT);
    doubled = layers.unit(name + ".doubled_2", doubled, 448, Kernel.column(3));
    doubled = layers.unit(name + ".doubled_3", doubled, 512, Kernel.row(3));
    doubled = split(name + ".doubled_4", doubled);
    Features pooled = pooledUnit(name, input, 256);
    return layers.concatenate(name, List.of(single, three, doubled, pooled));
  }

  /** A row and a column beside each other. */
  private Features split(String name, Features input) {
    Features row = layers.unit(name + "a", input, 256, Kernel.row(3));
    Features column = layers.unit(name + "b", input, 256, Kernel.column(3));
    return layers.concatenate(name, List.of(row, column));
  }

  private Features pooledUnit(String name, Features input, int channels) {
    Features pooled = layers.averagePoolInside(name + ".pool", input, 3, 1, 1);
    return layers.unit(name + ".pooled", pooled, channels, POINT);
  }
}
