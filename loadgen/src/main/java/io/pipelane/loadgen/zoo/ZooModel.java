package io.pipelane.loadgen.zoo;

import java.io.IOException;
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
      "gpt2_small", 124_439_808, TextLayers.OPERATOR_SET, "Radford et al. 2019", Gpt2::build);

  private static final int OPERATOR_SET = 17;

  private final String label;
  private final long parameters;
  private final int operatorSet;
  private final String source;
  private final Architecture architecture;

  ZooModel(String label, long parameters, String source, Architecture architecture) {
    this(label, parameters, OPERATOR_SET, source, architecture);
  }

  ZooModel(
      String label, long parameters, int operatorSet, String source, Architecture architecture) {
    this.label = label;
    this.parameters = parameters;
    this.operatorSet = operatorSet;
    this.source = source;
    this.architecture = architecture;
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

  /**
   * Writes version 1 into a repository, over what is there.
   *
   * @param seed decides the weights; the same seed gives the same bytes
   * @return the file's size in bytes
   * @throws IOException when the file cannot be written; what was there before stays then
   */
  public long write(Path repository, long seed) throws IOException {
    return new ModelWriter(new WeightSource(seed)).write(graph(), file(repository));
  }

  ZooGraph graph() {
    GraphBuilder graph = new GraphBuilder(label);
    architecture.build(graph);
    return graph.build(operatorSet);
  }
}
