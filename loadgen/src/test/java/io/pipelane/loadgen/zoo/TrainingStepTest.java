package io.pipelane.loadgen.zoo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import ai.onnxruntime.OrtException;
import io.pipelane.loadgen.zoo.ImageLayers.Features;
import io.pipelane.loadgen.zoo.ImageLayers.Kernel;
import io.pipelane.loadgen.zoo.graph.Architecture;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import io.pipelane.loadgen.zoo.graph.Range;
import io.pipelane.loadgen.zoo.graph.ZooGraph;
import io.pipelane.loadgen.zoo.training.Losses;
import io.pipelane.loadgen.zoo.training.TrainingStep;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Training steps in ONNX Runtime, on the CPU. */
@Timeout(300)
class TrainingStepTest {
  private static final int OPERATOR_SET = 17;
  private static final int CLASSES = 3;
  private static final int IMAGE = 8;
  private static final int ROWS = 3;

  /** How far weights are moved to see what the loss does, in one direction after another. */
  private static final double[] NUDGES = {3e-3, 3e-3, 3e-3, 1e-3, 1e-3, 1e-3, 3e-4, 3e-4, 3e-4};

  /** Share of a gradient's length. */
  private static final double TOLERANCE = 0.03;

  /** Share of the loss that 32-bit arithmetic may be off by. */
  private static final double ROUNDING = 1e-6;

  @TempDir Path folder;

  /** Small networks that have every operator between weights and loss. */
  static List<Named<Architecture>> networks() {
    return List.of(
        network("layers", TrainingStepTest::layers),
        network("convolutions", TrainingStepTest::convolutions),
        network("stridedConvolutions", TrainingStepTest::stridedConvolutions),
        network("normalizations", TrainingStepTest::normalizations),
        network("maximumPools", TrainingStepTest::maximumPools),
        network("averagePools", TrainingStepTest::averagePools),
        network("branches", TrainingStepTest::branches),
        Named.of("variationalAutoEncoder", TrainingStepTest::codes));
  }

  private static Named<Architecture> network(String name, Architecture network) {
    return Named.of(name, Losses.crossEntropy(network, CLASSES));
  }

  private static void layers(GraphBuilder graph) {
    ImageLayers layers = new ImageLayers(graph, 0);
    String input = graph.input("input", DataType.FLOAT, GraphBuilder.BATCH, 5);
    String hidden = layers.hidden("one", input, 5, 7);
    String sigmoid = graph.node("Sigmoid", "sigmoid", List.of(hidden));
    String matrix = graph.weight("matrix", Range.linear(7), 7, 6);
    String product = graph.node("MatMul", "product", List.of(sigmoid, matrix));
    layers.connect("last", "output", product, 6, CLASSES);
  }

  private static void convolutions(GraphBuilder graph) {
    ImageLayers layers = new ImageLayers(graph, 0);
    Features features = layers.biasedConvolution("one", image(layers), 4, Kernel.square(3, 1, 1));
    features = layers.convolution("point", features, 5, Kernel.square(1, 1, 0));
    features = layers.convolution("row", features, 3, Kernel.row(3));
    score(layers, layers.flatten("flat", features), 3 * IMAGE * IMAGE);
  }

  private static void stridedConvolutions(GraphBuilder graph) {
    ImageLayers layers = new ImageLayers(graph, 0);
    Features features = layers.convolution("stem", image(layers), 4, Kernel.square(1, 1, 0));
    features = layers.convolution("seven", features, 4, Kernel.square(7, 2, 3));
    features = layers.convolution("three", features, 4, Kernel.square(3, 2, 1));
    features = layers.convolution("point", features, 3, Kernel.square(1, 2, 0));
    score(layers, layers.flatten("flat", features), 3);
  }

  private static void normalizations(GraphBuilder graph) {
    ImageLayers layers = new ImageLayers(graph, 1e-5);
    Features features = layers.convolution("stem", image(layers), 4, Kernel.square(3, 1, 1));
    features = layers.rectify("relu", layers.normalize("norm", features));
    features = layers.normalize("second", features, 0.5);
    score(layers, layers.flatten("flat", layers.globalAverage("mean", features)), 4);
  }

  private static void maximumPools(GraphBuilder graph) {
    ImageLayers layers = new ImageLayers(graph, 0);
    Features features = layers.convolution("stem", image(layers), 4, Kernel.square(3, 1, 1));
    features = layers.maximumPool("overlapping", features, 3, 2, 1);
    features = layers.maximumPoolUpwards("upwards", features, 3, 2);
    score(layers, layers.flatten("flat", features), 4 * 2 * 2);
  }

  private static void averagePools(GraphBuilder graph) {
    ImageLayers layers = new ImageLayers(graph, 0);
    Features features = layers.convolution("stem", image(layers), 4, Kernel.square(3, 1, 1));
    features = layers.averagePool("padded", features, 3, 1, 1);
    features = layers.averagePool("halves", features, 2, 2, 0);
    score(layers, layers.flatten("flat", features), 4 * 4 * 4);
  }

  private static void branches(GraphBuilder graph) {
    ImageLayers layers = new ImageLayers(graph, 0);
    Features stem = layers.convolution("stem", image(layers), 4, Kernel.square(3, 1, 1));
    Features one = layers.rectify("one.relu", stem);
    Features other = layers.convolution("other", one, 4, Kernel.square(1, 1, 0));
    Features sum = layers.add("sum", one, other);
    Features all = layers.concatenate("all", List.of(stem, sum, one));
    score(layers, layers.flatten("flat", layers.globalAverage("mean", all)), 12);
  }

  /** Drawn codes and both costs of them, as {@code vae_train} has them. */
  private static void codes(GraphBuilder graph) {
    VariationalAutoEncoder.buildLoss(graph);
  }

  private static Features image(ImageLayers layers) {
    return layers.image(IMAGE);
  }

  private static void score(ImageLayers layers, String vector, int inputs) {
    layers.connect("last", "output", vector, inputs, CLASSES);
  }

  /**
   * Each weight is moved, half the way along its gradient and half anywhere, and the loss must
   * change as the gradient says: on one side at least, as a maximum or a rectifier may have a kink
   * on the other, and in one of some directions, as there may be kinks on both: the fewer the less
   * they are moved, but then the loss is rounded more.
   */
  @ParameterizedTest
  @MethodSource("networks")
  void gradients_areThoseOfFiniteDifferences(Architecture network)
      throws IOException, OrtException {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    ZooGraph step = TrainingStep.build("network", OPERATOR_SET, network, 1);
    try (TrainingSession session = new TrainingSession(step, folder, ROWS, random)) {
      TrainingSession.Answer answer = session.step(session.changes);
      double rounding = ROUNDING * Math.max(1, answer.loss());
      for (var next : answer.next().entrySet()) {
        float[] gradient = times(-1, next.getValue());
        double length = Math.sqrt(product(gradient, gradient));
        double excess = Double.MAX_VALUE;
        for (int i = 0; i < NUDGES.length && !(excess <= 0); i++) {
          double nudge = NUDGES[i];
          float[] direction = direction(gradient, random);
          double expected = product(gradient, direction);
          double above = moved(session, next.getKey(), times(nudge, direction));
          double below = moved(session, next.getKey(), times(-nudge, direction));
          double error =
              DoubleStream.of(
                      (above - below) / (2 * nudge),
                      (above - answer.loss()) / nudge,
                      (answer.loss() - below) / nudge)
                  .map(difference -> Math.abs(difference - expected))
                  .min()
                  .orElseThrow();
          excess = error - TOLERANCE * length - rounding / nudge;
        }
        double beyond = excess;
        assertTrue(beyond <= 0, () -> next.getKey() + " by " + beyond + ", seed " + seed);
      }
    }
  }

  private static float[] direction(float[] gradient, Random random) {
    float[] any = new float[gradient.length];
    for (int i = 0; i < any.length; i++) {
      any[i] = (float) random.nextGaussian();
    }
    double length = Math.max(Double.MIN_NORMAL, Math.sqrt(product(gradient, gradient)));
    float[] direction = times(1 / Math.sqrt(product(any, any)), any);
    for (int i = 0; i < any.length; i++) {
      direction[i] += (float) (gradient[i] / length);
    }
    return direction;
  }

  private static float[] times(double factor, float[] values) {
    float[] product = new float[values.length];
    for (int i = 0; i < values.length; i++) {
      product[i] = (float) (factor * values[i]);
    }
    return product;
  }

  private static double product(float[] one, float[] other) {
    double sum = 0;
    for (int i = 0; i < one.length; i++) {
      sum += (double) one[i] * other[i];
    }
    return sum;
  }

  private static double moved(TrainingSession session, String weight, float[] change)
      throws OrtException {
    Map<String, float[]> changes = new HashMap<>(session.changes);
    changes.put(weight, change);
    return session.step(changes).loss();
  }

  @Test
  void vaeTrain_lossFalls() throws IOException, OrtException {
    try (TrainingSession session =
        new TrainingSession(ZooModel.VAE_TRAIN.graph(), folder, 16, new Random(1))) {
      float first = session.train();
      float last = first;
      for (int i = 0; i < 100; i++) {
        last = session.train();
      }
      assertTrue(last < 0.9f * first, first + " to " + last);
    }
  }

  @Test
  @Tag("long")
  void resnet50Train_lossFalls() throws IOException, OrtException {
    checkLossFalls(ZooModel.RESNET50_TRAIN);
  }

  @Tag("long")
  @ParameterizedTest
  @EnumSource(names = {"RESNET152_TRAIN", "VGG16_TRAIN", "DENSENET201_TRAIN"})
  void largeSteps_lossFalls(ZooModel model) throws IOException, OrtException {
    checkLossFalls(model);
  }

  private void checkLossFalls(ZooModel model) throws IOException, OrtException {
    try (TrainingSession session = new TrainingSession(model.graph(), folder, 2, new Random(1))) {
      float first = session.train();
      session.train();
      session.train();
      float last = session.train();
      assertTrue(last < 0.9f * first, first + " to " + last);
    }
  }

  @Test
  void write_declaresTheState() throws IOException {
    ZooModel.VAE_TRAIN.write(folder, 1);
    String options = Files.readString(folder.resolve("vae_train/pipelane.yaml"));
    assertTrue(options.startsWith("state:\n  fc1.weight.next: fc1.weight.change\n"), options);
    assertEquals(11, options.lines().count());
  }

  @Test
  void operatorWithoutARule_isRefused() {
    Architecture network =
        graph -> {
          String input = graph.input("input", DataType.FLOAT, GraphBuilder.BATCH, CLASSES);
          String weight = graph.weight("weight", Range.linear(1), CLASSES, CLASSES);
          String product = graph.node("MatMul", "product", List.of(input, weight));
          graph.node("Tan", "output", List.of(product));
          graph.shape("output", GraphBuilder.BATCH, CLASSES);
        };
    Architecture trained = Losses.crossEntropy(network, CLASSES);
    Exception refusal =
        assertThrows(
            IllegalArgumentException.class,
            () -> TrainingStep.build("network", OPERATOR_SET, trained, 1));
    assertTrue(refusal.toString().contains("Tan"), refusal::toString);
  }
}
