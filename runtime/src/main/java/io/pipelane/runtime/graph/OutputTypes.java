package io.pipelane.runtime.graph;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.content.Scopes;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.IntFunction;

/**
 * The element types that operators give their outputs: most pass on their first input's, the others
 * are listed here. Operators that are not known give none.
 */
final class OutputTypes {
  private OutputTypes() {}

  /**
   * The ONNX element type of an output, where it is known.
   *
   * @param inputType of the node's input with an index
   */
  static OptionalInt of(NodeProto node, int output, IntFunction<OptionalInt> inputType) {
    return switch (node.getDomain()) {
      case "", "ai.onnx", "com.ms.internal.nhwc" -> standard(node, output, inputType);
      case "com.microsoft.nchwc" -> inputType.apply(0);
      case "com.microsoft" -> contributed(node, output, inputType);
      default -> OptionalInt.empty();
    };
  }

  private static OptionalInt standard(
      NodeProto node, int output, IntFunction<OptionalInt> inputType) {
    return switch (node.getOpType()) {
      case "Shape", "Size", "NonZero", "ArgMax", "ArgMin", "NonMaxSuppression" ->
          type(TensorType.INT64);
      case "TopK", "Unique", "MaxPool" -> output == 0 ? inputType.apply(0) : type(TensorType.INT64);
      case "Equal",
          "Greater",
          "Less",
          "GreaterOrEqual",
          "LessOrEqual",
          "And",
          "Or",
          "Xor",
          "Not",
          "IsNaN",
          "IsInf" ->
          type(TensorType.BOOL);
      case "Dropout" -> output == 0 ? inputType.apply(0) : type(TensorType.BOOL);
      case "Cast" -> integer(node, "to");
      case "ConstantOfShape", "Constant" -> value(node);
      case "Range", "Identity", "Gather", "Pow", "Split", "LSTM", "GRU", "RNN" ->
          inputType.apply(0);
      case "CastLike", "Where", "DequantizeLinear" -> inputType.apply(1);
      case "OneHot" -> inputType.apply(2);
      case "QuantizeLinear" ->
          node.getInputCount() > 2 ? inputType.apply(2) : type(TensorType.UINT8);
      case "DynamicQuantizeLinear" -> type(output == 1 ? TensorType.FP32 : TensorType.UINT8);
      case "MatMulInteger", "ConvInteger" -> type(TensorType.INT32);
      case "QLinearConv", "QLinearMatMul" -> inputType.apply(7);
      case "LayerNormalization" -> output == 0 ? inputType.apply(0) : type(TensorType.FP32);
      case "If", "Scan" -> bodyOutput(node, output);
      case "Loop" -> bodyOutput(node, output + 1); // The body's first says whether to go on.
      case "Optional", "OptionalGetElement", "OptionalHasElement" -> OptionalInt.empty();
      default ->
          node.getOpType().startsWith("Random") || node.getOpType().contains("Sequence")
              ? OptionalInt.empty()
              : inputType.apply(0);
    };
  }

  private static OptionalInt contributed(
      NodeProto node, int output, IntFunction<OptionalInt> inputType) {
    return switch (node.getOpType()) {
      case "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM" ->
          type(TensorType.FP32);
      case "DequantizeLinear" -> inputType.apply(1);
      case "QuantizeLinear" ->
          node.getInputCount() > 2 ? inputType.apply(2) : type(TensorType.UINT8);
      case "FusedMatMul",
          "FusedConv",
          "FusedGemm",
          "Gelu",
          "FastGelu",
          "BiasGelu",
          "QuickGelu",
          "MatMulNBits",
          "SkipLayerNormalization",
          "SkipSimplifiedLayerNormalization",
          "QLinearAdd",
          "QLinearMul",
          "QLinearSigmoid",
          "QLinearLeakyRelu",
          "QLinearSoftmax",
          "QLinearAveragePool",
          "QLinearGlobalAveragePool" ->
          output == 0 ? inputType.apply(0) : OptionalInt.empty();
      default -> OptionalInt.empty();
    };
  }

  private static OptionalInt type(TensorType type) {
    return OptionalInt.of(type.onnx());
  }

  private static OptionalInt integer(NodeProto node, String name) {
    return attribute(node, name)
        .map(attribute -> OptionalInt.of((int) attribute.getI()))
        .orElse(OptionalInt.empty());
  }

  /** A constant's attribute says in its name what it holds; it may be left out of other nodes. */
  private static OptionalInt value(NodeProto node) {
    for (AttributeProto attribute : node.getAttributeList()) {
      switch (attribute.getName()) {
        case "value" -> {
          return OptionalInt.of(attribute.getT().getDataType());
        }
        case "value_float", "value_floats" -> {
          return type(TensorType.FP32);
        }
        case "value_int", "value_ints" -> {
          return type(TensorType.INT64);
        }
        case "value_string", "value_strings" -> {
          return type(TensorType.BYTES);
        }
        default -> {}
      }
    }
    return node.getOpType().equals("Constant") ? OptionalInt.empty() : type(TensorType.FP32);
  }

  private static OptionalInt bodyOutput(NodeProto node, int output) {
    List<GraphProto> bodies = Scopes.bodies(node);
    if (bodies.isEmpty() || output >= bodies.getFirst().getOutputCount()) {
      return OptionalInt.empty();
    }
    int type = ElementTypes.elementType(bodies.getFirst().getOutput(output));
    return type == 0 ? OptionalInt.empty() : OptionalInt.of(type);
  }

  private static Optional<AttributeProto> attribute(NodeProto node, String name) {
    return node.getAttributeList().stream().filter(a -> a.getName().equals(name)).findFirst();
  }
}
