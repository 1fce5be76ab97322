package io.pipelane.runtime.graph;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.GatedGraph.Weight;
import io.pipelane.runtime.graph.content.ModelFile;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

class GateRulesTest {
  private static final CutSettings FINE = new CutSettings(1, 16);

  @Test
  void check_readerThatBypassesItsGate_namesIt() {
    GatedGraph gated = cut(TestModels.chain(3, TestModels.WIDTH, 1));
    GatedGraph broken =
        edit(gated, node -> node.getName().equals("MatMul_m2") ? read(node, "x") : node);
    assertRefused(broken, "MatMul_m2");
  }

  @Test
  void check_weightOnlyNodeThatBypassesItsGate_namesIt() {
    GatedGraph gated = cut(TestModels.quantized(3, 1));
    GatedGraph broken =
        edit(gated, node -> node.getOpType().equals("DequantizeLinear") ? ungated(node) : node);
    assertRefused(broken, "DequantizeLinear_w1");
  }

  @Test
  void check_gateThatDoesNotFollowItsPredecessor_namesIt() {
    GatedGraph gated = cut(TestModels.chain(3, TestModels.WIDTH, 1));
    GatedGraph broken =
        edit(gated, node -> node.getName().equals("gate_2") ? read(node, "x") : node);
    assertRefused(broken, "gate_2");
  }

  @Test
  void check_gateThatLosesAnOutput_namesIt() {
    GatedGraph gated = cut(TestModels.branches(1));
    GatedGraph broken =
        edit(
            gated,
            node ->
                node.getName().equals("gate_1") ? node.toBuilder().addInput("x").build() : node);
    assertRefused(broken, "gate_1");
  }

  @Test
  void check_gateWhoseOutputIsOneOfTheGraph_namesIt() {
    GatedGraph gated = cut(TestModels.chain(3, TestModels.WIDTH, 1));
    GraphProto.Builder graph = gated.model().getGraph().toBuilder();
    graph.addOutput(TestModels.batch("t0@1", TestModels.WIDTH));
    assertRefused(with(gated, graph), "gate_1");
  }

  @Test
  void check_misalignedWeight_namesIt() {
    GatedGraph gated = cut(TestModels.chain(2, TestModels.WIDTH, 1));
    List<Weight> weights = new ArrayList<>(gated.weights());
    Weight last = weights.removeLast();
    weights.add(
        new Weight(
            last.name(),
            last.type(),
            last.shape(),
            last.offset() + 4,
            last.byteSize(),
            last.segment()));
    assertRefused(
        new GatedGraph(
            gated.model(), weights, gated.inPlace(), gated.segments(), gated.weightBytes()),
        "w1");
  }

  @Test
  void check_weightThatIsStillAConstant_namesIt() {
    ModelProto model = TestModels.chain(2, TestModels.WIDTH, 1);
    GatedGraph gated = cut(model);
    GraphProto.Builder graph =
        gated.model().getGraph().toBuilder().addInitializer(model.getGraph().getInitializer(0));
    assertRefused(with(gated, graph), "w0");
  }

  @Test
  void check_tableThatIsReadAsAWhole_namesIt() {
    GatedGraph gated = cut(TestModels.embedding(2, 1));
    GatedGraph broken =
        edit(gated, node -> node.getName().equals("Mul_scaled") ? read(node, "table") : node);
    assertRefused(broken, "Mul_scaled reads all of table");
  }

  @Test
  void check_tableThatLiesOverAnother_namesIt() {
    GatedGraph gated = cut(TestModels.embedding(2, 1));
    InPlaceWeight table = gated.inPlace().getFirst();
    List<InPlaceWeight> twice = List.of(table, table);
    assertRefused(
        new GatedGraph(
            gated.model(), gated.weights(), twice, gated.segments(), gated.weightBytes()),
        "table does not lie in place");
  }

  private static GatedGraph cut(ModelProto model) {
    ModelFile file = ArrivingWeights.inMemory(model);
    return GateCutter.cut(file, WeightSelection.DEFAULT.select(file.graph()), FINE);
  }

  private static NodeProto read(NodeProto node, String name) {
    return node.toBuilder().setInput(0, name).build();
  }

  private static NodeProto ungated(NodeProto node) {
    String name = node.getInput(0);
    return read(node, name.contains("@") ? name.substring(0, name.indexOf('@')) : name);
  }

  private static GatedGraph edit(GatedGraph gated, UnaryOperator<NodeProto> change) {
    GraphProto.Builder graph = gated.model().getGraph().toBuilder();
    for (int i = 0; i < graph.getNodeCount(); i++) {
      graph.setNode(i, change.apply(graph.getNode(i)));
    }
    return with(gated, graph);
  }

  private static GatedGraph with(GatedGraph gated, GraphProto.Builder graph) {
    return new GatedGraph(
        gated.model().toBuilder().setGraph(graph).build(),
        gated.weights(),
        gated.inPlace(),
        gated.segments(),
        gated.weightBytes());
  }

  private static void assertRefused(GatedGraph broken, String offender) {
    IllegalStateException error =
        assertThrows(IllegalStateException.class, () -> GateRules.check(broken));
    assertTrue(String.valueOf(error.getMessage()).contains(offender), error.getMessage());
  }
}
