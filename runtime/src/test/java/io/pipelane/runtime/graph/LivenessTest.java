package io.pipelane.runtime.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import com.google.protobuf.ByteString;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.util.List;
import org.junit.jupiter.api.Test;

class LivenessTest {
  @Test
  void mayCut_beforeAReaderOfAnUnknownType_onlyWhereNothingIsStrings() {
    assertEquals(true, mayCutBehindUnknown(TensorType.FP32));
    assertEquals(false, mayCutBehindUnknown(TensorType.BYTES));
  }

  @Test
  void mayCut_beforeAReaderOfConstantStrings_isNot() {
    NodeProto constant =
        TestModels.node("Constant", List.of(), "s")
            .addAttribute(
                AttributeProto.newBuilder()
                    .setName("value_strings")
                    .setType(AttributeProto.AttributeType.STRINGS)
                    .addStrings(ByteString.copyFromUtf8("one")))
            .build();
    GraphProto graph =
        GraphProto.newBuilder()
            .addNode(constant)
            .addNode(TestModels.node("StringNormalizer", List.of("s"), "t"))
            .addNode(TestModels.node("Shape", List.of("t"), "y"))
            .addOutput(TestModels.value("y", TensorType.INT64, 1))
            .build();
    Liveness liveness = of(graph);
    assertEquals(false, liveness.mayCut(1));
    assertEquals(false, liveness.mayCut(2));
  }

  private static boolean mayCutBehindUnknown(TensorType input) {
    NodeProto odd = TestModels.node("Odd", List.of("x"), "t").setDomain("odd").build();
    GraphProto graph =
        GraphProto.newBuilder()
            .addInput(TestModels.value("x", input, 4))
            .addNode(odd)
            .addNode(TestModels.node("Shape", List.of("t"), "y"))
            .addOutput(TestModels.value("y", TensorType.INT64, 1))
            .build();
    return of(graph).mayCut(1);
  }

  private static Liveness of(GraphProto graph) {
    List<NodeProto> order = NodeOrder.of(graph);
    return Liveness.of(graph, order, ElementTypes.of(graph, order), HostValues.NONE);
  }
}
