package io.pipelane.runtime.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.FunctionProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import io.pipelane.runtime.TestModels;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RepetitionTest {
  private static NodeProto with(String operator, NodeProto... body) {
    return TestModels.node(operator, List.of("x"), "y")
        .addAttribute(
            AttributeProto.newBuilder()
                .setName("body")
                .setType(AttributeProto.AttributeType.GRAPH)
                .setG(GraphProto.newBuilder().addAllNode(List.of(body))))
        .build();
  }

  private static boolean isIn(NodeProto node) {
    return Repetition.isIn(
        ModelProto.newBuilder().setGraph(GraphProto.newBuilder().addNode(node)).build());
  }

  @ParameterizedTest
  @CsvSource({"Loop, true", "Scan, true", "SequenceMap, true", "BeamSearch, true", "If, false"})
  void isIn_anOperatorWithAGraph(String operator, boolean repeats) {
    NodeProto inner = TestModels.node("Tanh", List.of("x"), "y").build();
    assertEquals(repeats, isIn(with(operator, inner)));
    assertEquals(repeats, isIn(with("If", with(operator, inner))), "within a branch");
  }

  @Test
  void isIn_plainGraphsAndFunctions() {
    assertEquals(false, Repetition.isIn(TestModels.chain(2, 4, 1)));
    assertEquals(false, Repetition.isIn(TestModels.conditional(1)));
    ModelProto calling =
        TestModels.identity().toBuilder()
            .addFunctions(FunctionProto.newBuilder().addNode(with("Loop")))
            .build();
    assertEquals(true, Repetition.isIn(calling));
  }
}
