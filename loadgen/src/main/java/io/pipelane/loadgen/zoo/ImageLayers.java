package io.pipelane.loadgen.zoo;

import static io.pipelane.loadgen.zoo.graph.Attribute.integer;
import static io.pipelane.loadgen.zoo.graph.Attribute.integers;
import static io.pipelane.loadgen.zoo.graph.Attribute.real;

import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import io.pipelane.loadgen.zoo.graph.Attribute;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import io.pipelane.loadgen.zoo.graph.Range;
import java.util.List;

/** The layers that image classifiers are made of, as PyTorch exports them for inference. */
final class ImageLayers {
  private static final int COLOURS = 3;
  private static final int CLASSES = 1000;
  private static final Range BIAS = Range.around(0, 0.1);
  private static final Range MEAN = Range.around(0, 0.2);
  private static final Range VARIANCE = Range.around(1, 0.3);

  private final GraphBuilder graph;
  private final double epsilon;

  /**
   * @param epsilon what normalisations add to the variance
   */
  ImageLayers(GraphBuilder graph, double epsilon) {
    this.graph = graph;
    this.epsilon = epsilon;
  }

  /** The features that flow between layers: a tensor [batch, channels, height, width]. */
  record Features(String name, int channels) {}

  /**
   * A convolution's form.
   *
   * @param padHeight rows of zeros above and below
   * @param padWidth columns of zeros left and right
   */
  record Kernel(int height, int width, int stride, int padHeight, int padWidth) {
    static Kernel square(int size, int stride, int pad) {
      return new Kernel(size, size, stride, pad, pad);
    }

    /** One row, which leaves the image its size. */
    static Kernel row(int size) {
      return new Kernel(1, size, 1, 0, size / 2);
    }

    /** One column, which leaves the image its size. */
    static Kernel column(int size) {
      return new Kernel(size, 1, 1, size / 2, 0);
    }
  }

  Features image(int size) {
    return image(size, COLOURS);
  }

  Features image(int size, int channels) {
    return new Features(
        graph.input("input", DataType.FLOAT, GraphBuilder.BATCH, channels, size, size), channels);
  }

  Features convolution(String name, Features input, int channels, Kernel kernel) {
    return convolve(
        name, channels, kernel, List.of(input.name(), filters(name, input, channels, kernel)));
  }

  Features biasedConvolution(String name, Features input, int channels, Kernel kernel) {
    String bias = graph.weight(name + ".bias", BIAS, channels);
    return convolve(
        name,
        channels,
        kernel,
        List.of(input.name(), filters(name, input, channels, kernel), bias));
  }

  /** A normalisation that leaves values at about their scale. */
  Features normalize(String name, Features input) {
    return normalize(name, input, 1);
  }

  /**
   * A normalisation by gathered statistics.
   *
   * @param gain what it scales values by
   */
  Features normalize(String name, Features input, double gain) {
    int channels = input.channels();
    List<String> inputs =
        List.of(
            input.name(),
            graph.weight(name + ".weight", Range.around(gain, 0.2 * gain), channels),
            graph.weight(name + ".bias", BIAS, channels),
            graph.statistic(name + ".running_mean", MEAN, channels),
            graph.statistic(name + ".running_var", VARIANCE, channels));
    graph.node("BatchNormalization", name, inputs, real("epsilon", epsilon));
    return new Features(name, channels);
  }

  /** A convolution, a normalisation and a rectifier. */
  Features unit(String name, Features input, int channels, Kernel kernel) {
    Features features = convolution(name + ".conv", input, channels, kernel);
    return rectify(name + ".relu", normalize(name + ".bn", features));
  }

  Features rectify(String name, Features input) {
    graph.node("Relu", name, List.of(input.name()));
    return new Features(name, input.channels());
  }

  Features add(String name, Features one, Features other) {
    graph.node("Add", name, List.of(one.name(), other.name()));
    return new Features(name, one.channels());
  }

  Features concatenate(String name, List<Features> parts) {
    graph.node("Concat", name, parts.stream().map(Features::name).toList(), integer("axis", 1));
    return new Features(name, parts.stream().mapToInt(Features::channels).sum());
  }

  Features maximumPool(String name, Features input, int size, int stride, int pad) {
    Kernel kernel = Kernel.square(size, stride, pad);
    graph.node("MaxPool", name, List.of(input.name()), attributes(kernel));
    return new Features(name, input.channels());
  }

  /** A maximum whose last windows may reach beyond the image, so that nothing is left over. */
  Features maximumPoolUpwards(String name, Features input, int size, int stride) {
    Attribute[] form = attributes(Kernel.square(size, stride, 0));
    graph.node(
        "MaxPool", name, List.of(input.name()), form[0], form[1], form[2], integer("ceil_mode", 1));
    return new Features(name, input.channels());
  }

  /** A mean that counts the zeros around the image as well. */
  Features averagePool(String name, Features input, int size, int stride, int pad) {
    return averagePool(name, input, Kernel.square(size, stride, pad), true);
  }

  /** A mean of what the image holds alone. */
  Features averagePoolInside(String name, Features input, int size, int stride, int pad) {
    return averagePool(name, input, Kernel.square(size, stride, pad), false);
  }

  private Features averagePool(String name, Features input, Kernel kernel, boolean countsZeros) {
    Attribute[] form = attributes(kernel);
    Attribute zeros = integer("count_include_pad", countsZeros ? 1 : 0);
    graph.node("AveragePool", name, List.of(input.name()), form[0], form[1], form[2], zeros);
    return new Features(name, input.channels());
  }

  Features globalAverage(String name, Features input) {
    graph.node("GlobalAveragePool", name, List.of(input.name()));
    return new Features(name, input.channels());
  }

  /** One vector an image. */
  String flatten(String name, Features input) {
    return graph.node("Flatten", name, List.of(input.name()), integer("axis", 1));
  }

  /**
   * A fully connected layer.
   *
   * @param output what the tensor that it writes is named
   */
  String connect(String name, String output, String input, int inputs, int outputs) {
    List<String> tensors =
        List.of(
            input,
            graph.weight(name + ".weight", Range.afterRectifier(inputs), outputs, inputs),
            graph.weight(name + ".bias", BIAS, outputs));
    return graph.node("Gemm", output, tensors, integer("transB", 1));
  }

  /** A fully connected layer and a rectifier. */
  String hidden(String name, String input, int inputs, int outputs) {
    return graph.node("Relu", name + ".relu", List.of(connect(name, name, input, inputs, outputs)));
  }

  /** The last layer: a score for each class. */
  void classify(String name, String input, int inputs) {
    connect(name, "output", input, inputs, CLASSES);
    graph.output("output", GraphBuilder.BATCH, CLASSES);
  }

  private String filters(String name, Features input, int channels, Kernel kernel) {
    int inputs = input.channels() * kernel.height() * kernel.width();
    boolean isImage = input.channels() == COLOURS;
    Range values = isImage ? Range.linear(inputs) : Range.afterRectifier(inputs);
    return graph.weight(
        name + ".weight", values, channels, input.channels(), kernel.height(), kernel.width());
  }

  private Features convolve(String name, int channels, Kernel kernel, List<String> inputs) {
    Attribute[] form = attributes(kernel);
    graph.node("Conv", name, inputs, form);
    return new Features(name, channels);
  }

  private static Attribute[] attributes(Kernel kernel) {
    int rows = kernel.padHeight();
    int columns = kernel.padWidth();
    return new Attribute[] {
      integers("kernel_shape", kernel.height(), kernel.width()),
      integers("strides", kernel.stride(), kernel.stride()),
      integers("pads", rows, columns, rows, columns)
    };
  }
}
