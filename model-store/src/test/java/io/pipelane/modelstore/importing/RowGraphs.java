package io.pipelane.modelstore.importing;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.util.List;

/** Models whose rows have to do with each other, each in its way. */
final class RowGraphs {
  private RowGraphs() {}

  /** The largest of all rows' values sets the scale for all. */
  static ModelProto dynamicQuantisation() {
    return TestModels.model(
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 8))
            .addNode(
                TestModels.node("DynamicQuantizeLinear", List.of("x"), "q")
                    .addOutput("scale")
                    .addOutput("zero"))
            .addNode(TestModels.node("DequantizeLinear", List.of("q", "scale", "zero"), "y"))
            .addOutput(TestModels.batch("y", 8)));
  }

  /**
   * Takes off what an operator makes of all rows.
   *
   * @param reduction that reduces along the first axis: ReduceMean, ReduceMax
   */
  static ModelProto less(String reduction) {
    return TestModels.model(
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 8))
            .addNode(reduction(reduction, "x"))
            .addNode(TestModels.node("Sub", List.of("x", "all"), "y"))
            .addOutput(TestModels.batch("y", 8)));
  }

  /** Takes off the mean of another input's column, of a type that is cast to numbers. */
  static ModelProto lessMeanOf(TensorType type) {
    return TestModels.model(
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 8))
            .addInput(TestModels.value("column", type, -1, 1))
            .addNode(toFloat("column"))
            .addNode(reduction("ReduceMean", "numbers"))
            .addNode(TestModels.node("Sub", List.of("x", "all"), "y"))
            .addOutput(TestModels.batch("y", 8)));
  }

  /** Takes off the mean of what two columns of integers differ by. */
  static ModelProto lessMeanDifference() {
    return TestModels.model(
        GraphProto.newBuilder()
            .addInput(TestModels.value("one", TensorType.INT32, -1, 1))
            .addInput(TestModels.value("other", TensorType.INT32, -1, 1))
            .addInput(TestModels.batch("x", 8))
            .addNode(TestModels.node("Sub", List.of("one", "other"), "difference"))
            .addNode(toFloat("difference"))
            .addNode(reduction("ReduceMean", "numbers"))
            .addNode(TestModels.node("Sub", List.of("x", "all"), "y"))
            .addOutput(TestModels.batch("y", 8)));
  }

  private static NodeProto.Builder toFloat(String input) {
    return TestModels.node("Cast", List.of(input), "numbers")
        .addAttribute(
            AttributeProto.newBuilder()
                .setName("to")
                .setType(AttributeProto.AttributeType.INT)
                .setI(DataType.FLOAT.getNumber()));
  }

  private static NodeProto.Builder reduction(String operator, String input) {
    return TestModels.node(operator, List.of(input), "all")
        .addAttribute(
            AttributeProto.newBuilder()
                .setName("axes")
                .setType(AttributeProto.AttributeType.INTS)
                .addInts(0));
  }

  /** One output for all rows. */
  static ModelProto outputWithoutRows() {
    return TestModels.model(
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", 8))
            .addNode(TestModels.node("ReduceMax", List.of("x"), "y"))
            .addOutput(TestModels.value("y", TensorType.FP32, 1, 1)));
  }
}
