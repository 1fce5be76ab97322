package io.pipelane.runtime.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.content.ModelFile;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class HostValuesTest {
  private static final CutSettings FINE = new CutSettings(1, 16);

  @Test
  void of_shapeComputedFromASize_isOnTheHostUpToItsReader() {
    HostValues host = of(TestModels.reshaped(1, 1).getGraph());
    assertEquals(Set.of("shape", "rows", "wanted"), host.ungated());
    assertEquals(Set.of("first", "rest"), host.constants());
  }

  @Test
  void of_floatComputedFromAShape_isOnTheHostButNotWhatItScales() {
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 4))
            .addInitializer(scalar("half", 0.5f))
            .addInitializer(scalar("bias", 1))
            .addNode(TestModels.node("Size", List.of("x"), "size"))
            .addNode(
                TestModels.node("Cast", List.of("size"), "number")
                    .addAttribute(TestModels.integer("to", TensorType.FP32.onnx())))
            .addNode(TestModels.node("Pow", List.of("number", "half"), "root"))
            .addNode(TestModels.node("Tanh", List.of("x"), "t"))
            .addNode(TestModels.node("Div", List.of("t", "root"), "scaled"))
            .addNode(TestModels.node("Add", List.of("scaled", "bias"), "y"))
            .addOutput(TestModels.batch("y", 4));
    HostValues host = of(graph.build());
    assertEquals(Set.of("size", "number", "root"), host.ungated());
    assertEquals(Set.of("half"), host.constants());
  }

  @Test
  void of_inputThatIsAShape_isOnTheHost() {
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 4))
            .addInput(TestModels.value("wanted", TensorType.INT64, 2))
            .addNode(TestModels.node("Reshape", List.of("x", "wanted"), "y"))
            .addOutput(TestModels.batch("y", 4));
    assertEquals(Set.of("wanted"), of(graph.build()).ungated());
  }

  @Test
  void of_tableIndexedByAHostValue_staysAConstantAndIsReadOnTheDevice() {
    Random random = new Random(1);
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 32))
            .addInitializer(TestModels.weight("table", random, 32, 32))
            .addNode(TestModels.node("Shape", List.of("x"), "shape"))
            .addNode(TestModels.node("Gather", List.of("table", "shape"), "rows"))
            .addOutput(TestModels.batch("rows", 32));
    HostValues host = of(graph.build());
    assertEquals(Set.of("shape"), host.ungated());
    assertEquals(Set.of("table"), host.constants());
  }

  @Test
  void of_halfPrecision_isOnTheDevice() {
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 4))
            .addNode(TestModels.node("Shape", List.of("x"), "shape"))
            .addNode(
                TestModels.node("Cast", List.of("shape"), "half")
                    .addAttribute(TestModels.integer("to", TensorType.FP16.onnx())))
            .addNode(TestModels.node("Neg", List.of("half"), "y"))
            .addOutput(TestModels.value("y", TensorType.FP16, 2));
    assertEquals(Set.of("shape", "half"), of(graph.build()).ungated());
  }

  @Test
  void cut_forGpu_letsNoShapePassAGate() {
    GraphProto graph = TestModels.reshaped(6, 1).getGraph();
    GatedGraph gated = cut(graph, GraphTarget.GPU);
    assertEquals(6, gated.segments().size());
    assertFalse(passes(gated, "rows") || passes(gated, "wanted") || passes(gated, "shape"));
    assertTrue(passes(cut(graph, GraphTarget.PROCESSOR), "wanted"));
  }

  @Test
  void cut_forGpuWeightReadWithAShapeOnly_goesThroughItsGate() {
    Random random = new Random(1);
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 32))
            .addInitializer(TestModels.weight("w", random, 32, 32))
            .addInitializer(TestModels.weight("token", random, 32, 32))
            .addNode(TestModels.node("Shape", List.of("x"), "shape"))
            .addNode(TestModels.node("MatMul", List.of("x", "w"), "m"))
            .addNode(TestModels.node("Expand", List.of("token", "shape"), "tokens"))
            .addNode(TestModels.node("Add", List.of("m", "tokens"), "y"))
            .addOutput(TestModels.batch("y", 32));
    GatedGraph gated = cut(graph.build(), GraphTarget.GPU);
    assertEquals(2, gated.segments().size());
    assertTrue(passes(gated, "token") && passes(gated, "m") && !passes(gated, "shape"));
  }

  @Test
  void copies_writtenByARuntime_areCountedAndRemoved() {
    GraphProto graph =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 4))
            .addNode(TestModels.node("MemcpyFromHost", List.of("x"), "x_device"))
            .addNode(TestModels.node("Tanh", List.of("x_device"), "t"))
            .addNode(TestModels.node("MemcpyToHost", List.of("t"), "y"))
            .addOutput(TestModels.batch("y", 4))
            .build();
    assertEquals(2, HostCopies.count(graph));
    GraphProto removed =
        HostCopies.removed(ArrivingWeights.inMemory(TestModels.model(graph.toBuilder()))).graph();
    assertEquals(0, HostCopies.count(removed));
    assertEquals(
        List.of("Tanh", "Identity"),
        removed.getNodeList().stream().map(NodeProto::getOpType).toList());
    assertEquals("x", removed.getNode(0).getInput(0));
  }

  private static HostValues of(GraphProto graph) {
    List<NodeProto> order = NodeOrder.of(graph);
    return HostValues.of(graph, order, ElementTypes.of(graph, order));
  }

  private static GatedGraph cut(GraphProto graph, GraphTarget target) {
    ModelFile file = ArrivingWeights.inMemory(TestModels.model(graph.toBuilder()));
    Map<String, TensorProto> weights = target.selection().select(file.graph());
    return GateCutter.cut(file, weights, FINE, target);
  }

  private static boolean passes(GatedGraph gated, String value) {
    return gated.model().getGraph().getNodeList().stream()
        .filter(node -> node.getOpType().equals(GatedGraph.GATE_OPERATOR))
        .flatMap(node -> node.getOutputList().stream())
        .anyMatch(name -> name.startsWith(value + "@"));
  }

  private static TensorProto scalar(String name, float number) {
    return TensorProto.newBuilder()
        .setName(name)
        .setDataType(TensorType.FP32.onnx())
        .addFloatData(number)
        .build();
  }
}
