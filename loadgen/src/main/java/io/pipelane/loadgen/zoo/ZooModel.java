package io.pipelane.loadgen.zoo;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;

/** The models of the zoo. */
public enum ZooModel {
  RESNET50("resnet50", 25_557_032, graph -> ResNet.build(graph, 3, 4, 6, 3)),
  RESNET152("resnet152", 60_192_808, graph -> ResNet.build(graph, 3, 8, 36, 3)),
  INCEPTION_V3("inception_v3", 23_834_568, InceptionV3::build),
  VGG16("vgg16", 138_357_544, graph -> Vgg.build(graph, 2, 2, 3, 3, 3)),
  DENSENET201("densenet201", 20_013_928, graph -> DenseNet.build(graph, 6, 12, 48, 32)),
  BERT_BASE("bert_base", 108_891_648, TextLayers.OPERATOR_SET, Bert::build),
  GPT2_SMALL("gpt2_small", 124_439_808, TextLayers.OPERATOR_SET, Gpt2::build);

  private static final int OPERATOR_SET = 17;

  private final String label;
  private final long parameters;
  private final int operatorSet;
  private final Architecture architecture;

  ZooModel(String label, long parameters, Architecture architecture) {
    this(label, parameters, OPERATOR_SET, architecture);
  }

  ZooModel(String label, long parameters, int operatorSet, Architecture architecture) {
    this.label = label;
    this.parameters = parameters;
    this.operatorSet = operatorSet;
    this.architecture = architecture;
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
   * The published number of parameters: inception_v3 without the auxiliary classifier, bert_base
   * without the pooler, gpt2_small with one table for both embeddings.
   */
  public long parameters() {
    return parameters;
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
