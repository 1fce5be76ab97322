package io.pipelane.loadgen.zoo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.loadgen.zoo.graph.ZooGraph;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ZooModelTest {
  @ParameterizedTest
  @EnumSource
  void graph_hasThePublishedNumberOfParameters(ZooModel model) {
    assertEquals(model.parameters(), model.graph().parameters());
  }

  /** A normalisation has two statistics for each channel, on top of its parameters. */
  @ParameterizedTest
  @CsvSource({
    "RESNET50,     53,  26_560",
    "RESNET152,    155, 75_712",
    "INCEPTION_V3, 94,  17_216",
    "INCEPTION_V4, 149, 31_584",
    "VGG16,        0,   0",
    "DENSENET201,  201, 114_528",
    "RESNET101,    104, 52_672",
    "GOOGLENET,    57,  7_280"
  })
  void graph_hasThePublishedNormalizations(ZooModel model, int count, String channels) {
    ZooGraph graph = model.graph();
    long statistics = 2 * Long.parseLong(channels.replace("_", ""));

    assertEquals(count, count(graph, "BatchNormalization"));
    assertEquals(Float.BYTES * (model.parameters() + statistics), graph.weightBytes());
  }

  @ParameterizedTest
  @EnumSource(names = {"BERT_BASE", "GPT2_SMALL", "VIT_B_16"})
  void graph_hasTwelveLayersOfAttention(ZooModel model) {
    ZooGraph graph = model.graph();

    assertEquals(12, count(graph, "Softmax"));
    assertEquals(Float.BYTES * model.parameters(), graph.weightBytes());
  }

  /** Two layers of LSTM hold 4 x (2 x units + 2) x units parameters each. */
  @ParameterizedTest
  @CsvSource({"SEQ2SEQ_SMALL, 200", "SEQ2SEQ_MEDIUM, 650", "SEQ2SEQ_LARGE, 1500"})
  void graph_hasTheUnitsOfTheWordModels(ZooModel model, long units) {
    long memory = 2 * 4 * (2 * units + 2) * units;
    long words = 10_000 * units;

    assertEquals(words + memory + words + 10_000, model.graph().parameters());
    assertEquals(2, count(model.graph(), "LSTM"));
  }

  /** Layers as the networks' names count them: convolutions without shortcuts, and products. */
  @ParameterizedTest
  @CsvSource({
    "RESNET50,    50",
    "RESNET152,   152",
    "VGG11, 11",
    "VGG16,       16",
    "VGG19, 19",
    "DENSENET201, 201",
    "RESNET101, 101",
    "ALEXNET, 8",
    "OVERFEAT, 8"
  })
  void graph_hasTheLayersInItsName(ZooModel model, int layers) {
    ZooGraph graph = model.graph();
    long shortcuts =
        graph.graph().getNodeList().stream()
            .filter(node -> node.getName().endsWith(".downsample.0"))
            .count();

    assertEquals(layers, count(graph, "Conv") + count(graph, "Gemm") - shortcuts);
  }

  /** What a training step keeps has the weights' shapes. */
  @ParameterizedTest
  @EnumSource(names = ".*_TRAIN", mode = EnumSource.Mode.MATCH_NONE)
  void graph_isInExecutionOrderAndOpenInTheBatch(ZooModel model) {
    ZooGraph graph = model.graph();
    Set<String> known = new HashSet<>();
    graph.graph().getInputList().forEach(input -> known.add(input.getName()));
    graph.graph().getInitializerList().stream().map(TensorProto::getName).forEach(known::add);
    graph.weights().forEach(weight -> known.add(weight.name()));
    Set<String> unused = new HashSet<>(known);

    for (NodeProto node : graph.graph().getNodeList()) {
      assertTrue(known.containsAll(node.getInputList()), node::toString);
      known.addAll(node.getOutputList());
      node.getInputList().forEach(unused::remove);
    }

    assertEquals(Set.of(), unused);
    Stream.of(graph.graph().getInputList(), graph.graph().getOutputList())
        .flatMap(Collection::stream)
        .forEach(value -> assertEquals("batch", dimensions(value).getFirst()));
  }

  private static long count(ZooGraph graph, String operator) {
    return graph.graph().getNodeList().stream()
        .filter(node -> node.getOpType().equals(operator))
        .count();
  }

  private static List<String> dimensions(ValueInfoProto value) {
    return value.getType().getTensorType().getShape().getDimList().stream()
        .map(dimension -> dimension.getDimParam())
        .toList();
  }
}
