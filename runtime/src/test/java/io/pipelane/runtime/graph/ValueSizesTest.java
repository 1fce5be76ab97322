package io.pipelane.runtime.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import io.pipelane.runtime.TestModels;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Graphs with an input x and a constant c. */
class ValueSizesTest {
  private static NodeProto node(String operator, List<String> inputs, String output) {
    return TestModels.node(operator, inputs, output).build();
  }

  private static boolean isIn(NodeProto... nodes) {
    return ValueSizes.isIn(
        ModelProto.newBuilder()
            .setGraph(
                GraphProto.newBuilder()
                    .addInput(ValueInfoProto.newBuilder().setName("x"))
                    .addInput(ValueInfoProto.newBuilder().setName("c"))
                    .addInitializer(TensorProto.newBuilder().setName("c"))
                    .addAllNode(List.of(nodes)))
            .build());
  }

  @ParameterizedTest
  @CsvSource({"Expand, true", "Tile, true", "Pad, true", "Slice, false", "Reshape, false"})
  void isIn_sizeThatIsComputed_whereTheOutputMayBeLarger(String operator, boolean isByValues) {
    NodeProto computed = node("Cast", List.of("x"), "size");
    assertEquals(isByValues, isIn(computed, node(operator, List.of("c", "size"), "y")));
    assertFalse(isIn(node(operator, List.of("x", "c"), "y")), "it is the model's own");
  }

  @Test
  void isIn_sizeThatFollowsFromShapes_isNone() {
    assertFalse(
        isIn(
            node("Shape", List.of("x"), "shape"),
            node("Gather", List.of("shape", "c"), "size"),
            node("ConstantOfShape", List.of("size"), "zeros"),
            node("Expand", List.of("x", "size"), "y")));
  }

  @Test
  void isIn_whatPicksByContent() {
    assertTrue(isIn(node("NonZero", List.of("x"), "y")));
    assertFalse(isIn(node("NonZero", List.of("c"), "y")));
  }

  @Test
  void isIn_branchThatReadsOuterValues() {
    NodeProto branch = node("Range", List.of("c", "x", "c"), "y");
    assertTrue(
        isIn(
            TestModels.node("If", List.of("c"), "z")
                .addAttribute(
                    AttributeProto.newBuilder()
                        .setName("then_branch")
                        .setType(AttributeProto.AttributeType.GRAPH)
                        .setG(GraphProto.newBuilder().addNode(branch)))
                .build()));
  }

  @Test
  void isIn_plainGraphs() {
    assertFalse(ValueSizes.isIn(TestModels.chain(2, 4, 1)));
    assertFalse(ValueSizes.isIn(TestModels.conditional(1)));
  }
}
