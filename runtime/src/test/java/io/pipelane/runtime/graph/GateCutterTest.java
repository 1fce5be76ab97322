package io.pipelane.runtime.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.StringStringEntryProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.GatedGraph.Weight;
import io.pipelane.runtime.graph.content.ModelFile;
import io.pipelane.runtime.graph.content.Scopes;
import io.pipelane.runtime.graph.content.StructureHash;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class GateCutterTest {
  private static final int WEIGHT_BYTES = 4 * TestModels.WIDTH * TestModels.WIDTH;

  @Test
  void cut_bySize_givesSegmentsOfAboutEqualBytesBehindTheFirst() {
    ModelFile file = ArrivingWeights.inMemory(TestModels.chain(16, 32, 1));
    Map<String, TensorProto> weights = WeightSelection.DEFAULT.select(file.graph());
    CutSettings four = new CutSettings(1, 4);
    assertEquals(
        List.of(1L, 2L, 6L, 7L), sizes(GateCutter.cut(file, weights, four, GraphTarget.PROCESSOR)));
    assertEquals(
        List.of(4L, 4L, 4L, 4L), sizes(GateCutter.cut(file, weights, four, GraphTarget.GPU)));
  }

  private static List<Long> sizes(GatedGraph gated) {
    return gated.segments().stream().map(segment -> segment.byteSize() / WEIGHT_BYTES).toList();
  }

  @Test
  void cut_belowMinimum_leavesOneSegment() {
    GatedGraph gated = cut(TestModels.chain(3, 32, 1), CutSettings.DEFAULT);
    assertEquals(1, gated.segments().size());
    assertEquals(6, gated.segments().getFirst().layers());
  }

  @Test
  void cut_minimum_isKeptByEverySegment() {
    CutSettings settings = new CutSettings(2 * WEIGHT_BYTES, 100);
    GatedGraph gated = cut(TestModels.chain(7, 32, 1), settings);
    assertEquals(3, gated.segments().size());
    assertTrue(
        gated.segments().stream().allMatch(s -> s.byteSize() >= settings.minimumSegmentBytes()));
  }

  @Test
  void cut_weightOnlyNodesAtTheBeginning_areExecutedBeforeTheirReaders() {
    GatedGraph gated = cut(TestModels.quantized(4, 1), new CutSettings(1, 16));
    assertEquals(List.of(0, 1, 2, 3), gated.weights().stream().map(Weight::segment).toList());
  }

  @Test
  void cut_table_isReadInPlaceOutsideOfTheSegments() {
    GatedGraph gated = cut(TestModels.embedding(2, 1), new CutSettings(1, 16));
    assertEquals(List.of("table"), gated.inPlace().stream().map(InPlaceWeight::name).toList());
    assertEquals(List.of("w0", "w1"), gated.weights().stream().map(Weight::name).toList());
    assertEquals(2L * WEIGHT_BYTES, gated.weightBytes());
  }

  @Test
  void cut_tableOfManyRowsForAGpu_isReadInPlaceOutsideOfTheSegments() {
    GatedGraph gated = cutForGpu(TestModels.embedding(2, 8192, 1), true);
    assertEquals(List.of("table"), gated.inPlace().stream().map(InPlaceWeight::name).toList());
    assertEquals(List.of("fifty", "w0", "w1"), gated.weights().stream().map(Weight::name).toList());
    assertEquals(List.of(), cutForGpu(TestModels.embedding(2, 8192, 1), false).inPlace());
  }

  /** A large request names as many rows, and reads them over the link in every run. */
  @Test
  void cut_tableOfFewRowsForAGpu_isStreamed() {
    GatedGraph gated = cutForGpu(TestModels.embedding(2, 512, 1), true);
    assertEquals(List.of(), gated.inPlace());
    assertEquals(
        List.of("fifty", "table", "w0", "w1"), gated.weights().stream().map(Weight::name).toList());
  }

  private static GatedGraph cutForGpu(ModelProto model, boolean readInPlace) {
    ModelFile file = ArrivingWeights.inMemory(model);
    return GateCutter.cut(
        file,
        GraphTarget.GPU.selection().select(file.graph()),
        new CutSettings(1, 16, readInPlace, CutSettings.UNLIMITED),
        GraphTarget.GPU);
  }

  @Test
  void cut_tableWithAnotherReader_isStreamed() {
    GraphProto.Builder graph = TestModels.embedding(2, 1).getGraph().toBuilder();
    graph.addNode(TestModels.node("ReduceMax", List.of("table"), "largest"));
    graph.addOutput(TestModels.value("largest", TensorType.FP32, 1, 1));
    GatedGraph gated = cut(TestModels.model(graph), new CutSettings(1, 16));
    assertEquals(List.of(), gated.inPlace());
    assertEquals(3, gated.weights().size());
  }

  @Test
  void cut_tableReadByColumns_isStreamed() {
    GraphProto.Builder graph = TestModels.embedding(2, 1).getGraph().toBuilder();
    for (NodeProto.Builder node : graph.getNodeBuilderList()) {
      if (node.getOpType().equals("Gather")) {
        node.addAttribute(TestModels.integer("axis", 1));
      }
    }
    assertEquals(List.of(), cut(TestModels.model(graph), CutSettings.DEFAULT).inPlace());
  }

  @Test
  void cut_outputInTheMiddle_keepsItsName() {
    GatedGraph gated = cut(TestModels.middleOutput(1), new CutSettings(1, 16));
    assertTrue(
        gated.model().getGraph().getNodeList().stream()
            .anyMatch(node -> node.getOutputList().contains("t1")));
  }

  @Test
  void cut_implicitInputsOfBodies_areRenamed() {
    GatedGraph gated = cut(TestModels.conditional(1), new CutSettings(1, 16));
    NodeProto choice =
        gated.model().getGraph().getNodeList().stream()
            .filter(node -> node.getOpType().equals("If"))
            .findFirst()
            .orElseThrow();
    assertEquals(Set.of("early@1", "late", "outer"), Scopes.implicitReads(choice));
  }

  @Test
  void select_leavesBodiesAndOutputsAndKeptNamesAlone() {
    GraphProto graph = TestModels.conditional(1).getGraph();
    assertEquals(
        Set.of("w0", "w2"), WeightSelection.DEFAULT.keeping(Set.of("w1")).select(graph).keySet());
  }

  @Test
  void select_shapeConstantOfAnySize_stays() {
    Random random = new Random(1);
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 32))
            .addInitializer(
                TestModels.weight("big", random, 32, 2048).toBuilder()
                    .setDataType(TensorType.INT64.onnx())
                    .setDims(1, 1024))
            .addNode(TestModels.node("Gather", List.of("x", "big"), "y"));
    assertTrue(WeightSelection.DEFAULT.select(graph.build()).isEmpty());
  }

  @Test
  void cut_cycle_isRefused() {
    ModelProto model =
        TestModels.model(
            GraphProto.newBuilder()
                .addInput(TestModels.batch("x", 32))
                .addNode(TestModels.node("Add", List.of("x", "b"), "a"))
                .addNode(TestModels.node("Add", List.of("x", "a"), "b"))
                .addOutput(TestModels.batch("b", 32)));
    StatusException error =
        assertThrows(StatusException.class, () -> cut(model, CutSettings.DEFAULT));
    assertTrue(String.valueOf(error.getMessage()).contains("Add_a"), error.getMessage());
  }

  @Test
  void structureHash_isSharedByFineTunedVariantsOnly() {
    CutSettings fine = new CutSettings(1, 16);
    ModelProto described =
        TestModels.chain(3, 32, 2).toBuilder()
            .setProducerName("somebody else")
            .addMetadataProps(StringStringEntryProto.newBuilder().setKey("a").setValue("b"))
            .build();
    String hash = StructureHash.of(cut(TestModels.chain(3, 32, 1), fine).model());
    assertEquals(hash, StructureHash.of(cut(described, fine).model()));
    assertNotEquals(hash, StructureHash.of(cut(TestModels.chain(4, 32, 1), fine).model()));
  }

  @Test
  void cut_namesThatLookLikeGateOutputs_stayDistinct() {
    ModelProto model = TestModels.chain(3, 32, 1);
    GraphProto.Builder graph = model.getGraph().toBuilder();
    graph.setNode(5, graph.getNode(5).toBuilder().setOutput(0, "t0@1"));
    graph.setOutput(0, TestModels.batch("t0@1", 32));
    GatedGraph gated = cut(TestModels.model(graph), new CutSettings(1, 16));
    assertFalse(gated.segments().isEmpty());
  }

  private static GatedGraph cut(ModelProto model, CutSettings settings) {
    ModelFile file = ArrivingWeights.inMemory(model);
    return GateCutter.cut(file, WeightSelection.DEFAULT.select(file.graph()), settings);
  }
}
