package io.pipelane.runtime.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import io.pipelane.runtime.TestModels;
import io.pipelane.runtime.graph.GatedGraph.Weight;
import io.pipelane.runtime.graph.content.ModelFile;
import io.pipelane.runtime.graph.content.StructureHash;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** On a GPU, versions that differ in weights of any size have one structure. */
class SharedStructureTest {
  private static final int LAYERS = 4;
  private static final CutSettings FINE = new CutSettings(1, 16);

  @Test
  void cut_forGpuOtherBiasesToo_haveOneHashAndOneLayout() {
    GatedGraph one = cut(biased(1), GraphTarget.GPU);
    GatedGraph two = cut(biased(2), GraphTarget.GPU);
    assertEquals(StructureHash.of(one.model()), StructureHash.of(two.model()));
    assertEquals(one.weights(), two.weights());
    assertEquals(one.segments(), two.segments());
  }

  @Test
  void cut_forProcessor_keepsSmallConstantsInside() {
    GatedGraph one = cut(biased(1), GraphTarget.PROCESSOR);
    assertNotEquals(
        StructureHash.of(one.model()),
        StructureHash.of(cut(biased(2), GraphTarget.PROCESSOR).model()));
    assertEquals(LAYERS, one.weights().size());
  }

  @Test
  void cut_otherShapeConstantOrAttribute_hasAnotherHash() {
    String hash = StructureHash.of(cut(biased(1), GraphTarget.GPU).model());
    GraphProto.Builder shape = biased(1).getGraph().toBuilder();
    shape.setInitializer(1, shape.getInitializer(1).toBuilder().setInt64Data(0, -1));
    assertNotEquals(hash, StructureHash.of(cut(TestModels.model(shape), GraphTarget.GPU).model()));
    GraphProto.Builder attribute = biased(1).getGraph().toBuilder();
    attribute.getNodeBuilder(2).getAttributeBuilder(0).setI(-1);
    assertNotEquals(
        hash, StructureHash.of(cut(TestModels.model(attribute), GraphTarget.GPU).model()));
  }

  @Test
  void cut_forGpu_packsSmallWeightsInFront() {
    GatedGraph gated = cut(biased(1), GraphTarget.GPU);
    List<String> names = gated.weights().stream().map(Weight::name).toList();
    assertEquals(List.of("b0", "b1", "b2", "b3", "w0", "w1", "w2", "w3"), names);
    for (int i = 0; i < LAYERS; i++) {
      Weight bias = gated.weights().get(i);
      assertEquals(0, bias.segment());
      assertEquals(i * GatedGraph.ALIGNMENT, bias.offset());
      assertEquals(i, gated.weights().get(LAYERS + i).segment());
    }
    assertTrue(GatedGraph.ALIGNMENT >= 256, "what cuBLASLt assumes of its operands");
  }

  @Test
  void cut_forGpuSmallWeightsOnly_isOneSegment() {
    Random random = new Random(1);
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 8))
            .addInitializer(TestModels.weight("b", random, 8))
            .addNode(TestModels.node("Add", List.of("x", "b"), "y"))
            .addOutput(TestModels.batch("y", 8));
    GatedGraph gated = cut(TestModels.model(graph), GraphTarget.GPU);
    assertEquals(1, gated.segments().size());
    assertEquals(GatedGraph.ALIGNMENT, gated.segments().getFirst().byteSize());
  }

  private static ModelProto biased(long seed) {
    return TestModels.reshaped(LAYERS, seed);
  }

  private static GatedGraph cut(ModelProto model, GraphTarget target) {
    ModelFile file = ArrivingWeights.inMemory(model);
    Map<String, TensorProto> weights = target.selection().select(file.graph());
    return GateCutter.cut(file, weights, FINE, target);
  }
}
