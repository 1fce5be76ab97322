package io.pipelane.loadgen.zoo;

import static io.pipelane.loadgen.zoo.graph.Attribute.integer;
import static io.pipelane.loadgen.zoo.graph.Attribute.text;

import io.pipelane.loadgen.zoo.ImageLayers.Features;
import io.pipelane.loadgen.zoo.ImageLayers.Kernel;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import java.util.List;

/**
 * Brightness in three times the resolution: Shi et al., Real-Time Single Image and Video
 * Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural Network, as PyTorch's example
 * has it.
 */
final class SuperResolution {
  private static final int IMAGE = 224;
  private static final int FACTOR = 3;

  private SuperResolution() {}

  static void build(GraphBuilder graph) {
    ImageLayers layers = new ImageLayers(graph, 0);
    Features features = layers.image(IMAGE, 1);
    features = unit(layers, 1, features, 64, Kernel.square(5, 1, 2));
    features = unit(layers, 2, features, 64, Kernel.square(3, 1, 1));
    features = unit(layers, 3, features, 32, Kernel.square(3, 1, 1));
    features = layers.biasedConvolution("conv4", features, FACTOR * FACTOR, Kernel.square(3, 1, 1));
    graph.node(
        "DepthToSpace",
        "output",
        List.of(features.name()),
        integer("blocksize", FACTOR),
        text("mode", "CRD"));
    graph.output("output", GraphBuilder.BATCH, 1, FACTOR * IMAGE, FACTOR * IMAGE);
  }

  private static Features unit(
      ImageLayers layers, int index, Features input, int channels, Kernel kernel) {
    String name = "conv" + index;
    return layers.rectify(name + ".relu", layers.biasedConvolution(name, input, channels, kernel));
  }
}
