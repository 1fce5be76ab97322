package io.pipelane.loadgen.zoo;

import io.pipelane.loadgen.zoo.graph.Architecture;
import io.pipelane.loadgen.zoo.graph.GraphBuilder;
import io.pipelane.loadgen.zoo.graph.ModelWriter;
import io.pipelane.loadgen.zoo.graph.WeightSource;
import io.pipelane.loadgen.zoo.graph.ZooGraph;
import io.pipelane.loadgen.zoo.training.Losses;
import io.pipelane.loadgen.zoo.training.TrainingStep;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;

/** The models of the zoo. */
public enum ZooModel {
  ALEXNET("alexnet", 61_100_840, "Krizhevsky 2014", AlexNet::build),
  GOOGLENET("googlenet", 6_624_904, "Szegedy et al. 2015", GoogLeNet::build),
  INCEPTION_V3("inception_v3", 23_834_568, "Szegedy et al. 2016", InceptionV3::build),
  INCEPTION_V4("inception_v4", 42_679_816, "Szegedy et al. 2017", InceptionV4::build),
  OVERFEAT("overfeat", 145_920_872, "Sermanet et al. 2014, fast", OverFeat::build),
  RESNET50("resnet50", 25_557_032, Source.RESNET, graph -> ResNet.build(graph, 3, 4, 6, 3)),
  RESNET101("resnet101", 44_549_160, Source.RESNET, graph -> ResNet.build(graph, 3, 4, 23, 3)),
  RESNET152("resnet152", 60_192_808, Source.RESNET, graph -> ResNet.build(graph, 3, 8, 36, 3)),
  VGG11("vgg11", 132_863_336, Source.VGG, graph -> Vgg.build(graph, 1, 1, 2, 2, 2)),
  VGG16("vgg16", 138_357_544, Source.VGG, graph -> Vgg.build(graph, 2, 2, 3, 3, 3)),
  VGG19("vgg19", 143_667_240, Source.VGG, graph -> Vgg.build(graph, 2, 2, 4, 4, 4)),
  DENSENET201(
      "densenet201",
      20_013_928,
      "Huang et al. 2017",
      graph -> DenseNet.build(graph, 6, 12, 48, 32)),
  SUPERRES("superres", 59_657, "Shi et al. 2016", SuperResolution::build),
  VAE("vae", 652_824, "Kingma and Welling 2014", VariationalAutoEncoder::build),
  SPEECH("speech", 6_388_798, "Hannun et al. 2014, Fathom's sizes", DeepSpeech::build),
  SEQ2SEQ_SMALL("seq2seq_small", 4_653_200, Source.WORDS, graph -> WordModel.build(graph, 200)),
  SEQ2SEQ_MEDIUM("seq2seq_medium", 19_780_400, Source.WORDS, graph -> WordModel.build(graph, 650)),
  SEQ2SEQ_LARGE("seq2seq_large", 66_034_000, Source.WORDS, graph -> WordModel.build(graph, 1500)),
  VIT_B_16(
      "vit_b_16",
      86_567_656,
      TextLayers.OPERATOR_SET,
      "Dosovitskiy et al. 2021",
      VisionTransformer::build),
  BERT_BASE("bert_base", 108_891_648, TextLayers.OPERATOR_SET, "Devlin et al. 2019", Bert::build),
  GPT2_SMALL(
      "gpt2_small", 124_439_808, TextLayers.OPERATOR_SET, "Radford et al. 2019", Gpt2::build),
  VAE_TRAIN("vae_train", VAE, VariationalAutoEncoder::buildLoss, 1e-3),
  RESNET50_TRAIN("resnet50_train", RESNET50, 1e-2),
  RESNET152_TRAIN("resnet152_train", RESNET152, 1e-2),
  VGG16_TRAIN("vgg16_train", VGG16, 1e-2),
  DENSENET201_TRAIN("densenet201_train", DENSENET201, 1e-2);

  private static final int OPERATOR_SET = 17;
  private static final int CLASSES = 1000;

  private final String label;
  private final long parameters;
  private final int operatorSet;
  private final String source;
  private final Architecture architecture;

  /** What a training step multiplies gradients by; 0 for a model that is asked, not trained. */
  private final double rate;

  ZooModel(String label, long parameters, String source, Architecture architecture) {
    this(label, parameters, OPERATOR_SET, source, architecture);
  }

  ZooModel(
      String label, long parameters, int operatorSet, String source, Architecture architecture) {
    this(label, parameters, operatorSet, source, architecture, 0);
  }

  /** A training step of a classifier. */
  ZooModel(String label, ZooModel classifier, double rate) {
    this(label, classifier, Losses.crossEntropy(classifier.architecture, CLASSES), rate);
  }

  /** A training step of a network, the same that {@code architecture} ends in a loss. */
  ZooModel(String label, ZooModel network, Architecture architecture, double rate) {
    this(label, network.parameters, network.operatorSet, network.source, architecture, rate);
  }

  ZooModel(
      String label,
      long parameters,
      int operatorSet,
      String source,
      Architecture architecture,
      double rate) {
    this.label = label;
    this.parameters = parameters;
    this.operatorSet = operatorSet;
    this.source = source;
    this.architecture = architecture;
    this.rate = rate;
  }

  /** Papers with several models. */
  private static final class Source {
    static final String RESNET = "He et al. 2016";
    static final String WORDS = "Zaremba et al. 2014";
    static final String VGG = "Simonyan and Zisserman 2015";
  }

  /** Finds the model of a name, {@code resnet50} for instance. */
  public static Optional<ZooModel> find(String label) {
    return Arrays.stream(values()).filter(model -> model.label.equals(label)).findFirst();
  }

  /** The name it has in a repository. */
  public String label() {
    return label;
  }

  /**
   * The published number of parameters: googlenet and inception_v3 without auxiliary classifiers,
   * bert_base without the pooler, gpt2_small with one table for both embeddings; of speech and
   * seq2seq, whose papers state none or rounded ones, the sum over the layers that they state.
   */
  public long parameters() {
    return parameters;
  }

  /** Who published the architecture, and when. */
  public String source() {
    return source;
  }

  /** Bytes of all weights, the statistics of normalisations included. */
  public long weightBytes() {
    return graph().weightBytes();
  }

  /** Convolutions, products by weights and recurrent layers, shortcuts' included. */
  public long layers() {
    return graph().layers();
  }

  /** Where its version 1 lies in a repository. */
  public Path file(Path repository) {
    return repository.resolve(label).resolve("1").resolve("model.onnx");
  }

  /** Whether it is a training step, whose weights are state from one request to the next. */
  public boolean isTraining() {
    return rate > 0;
  }

  /**
   * Writes version 1 into a repository, over what is there, and the options of a model that keeps
   * state.
   *
   * @param seed decides the weights; the same seed gives the same bytes
   * @return the file's size in bytes
   * @throws IOException when the file cannot be written; what was there before stays then
   */
  public long write(Path repository, long seed) throws IOException {
    ZooGraph graph = graph();
    long bytes = new ModelWriter(new WeightSource(seed)).write(graph, file(repository));
    if (!graph.state().isEmpty()) {
      StringBuilder options = new StringBuilder("state:\n");
      graph
          .state()
          .forEach((output, input) -> options.append("  %s: %s%n".formatted(output, input)));
      Files.writeString(repository.resolve(label).resolve("pipelane.yaml"), options);
    }
    return bytes;
  }

  ZooGraph graph() {
    if (isTraining()) {
      return TrainingStep.build(label, operatorSet, architecture, rate);
    }
    GraphBuilder graph = new GraphBuilder(label);
    architecture.build(graph);
    return graph.build(operatorSet);
  }
}
