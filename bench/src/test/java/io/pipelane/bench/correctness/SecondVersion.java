package io.pipelane.bench.correctness;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.protobuf.ByteString;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Makes a second version of a model that answers otherwise: the last matrix or filter of FP32
 * weights that it uses is negated; the last vector, where all matrices are quantised.
 */
final class SecondVersion {
  private static final int LEAST_ELEMENTS = 64;

  private SecondVersion() {}

  static void write(Path first, Path second) throws IOException {
    ModelProto.Builder model;
    try (InputStream in = Files.newInputStream(first)) {
      model = ModelProto.parseFrom(in).toBuilder();
    }
    negate(lastUsed(model));
    Files.createDirectories(second.getParent());
    Files.write(second, model.build().toByteArray());
  }

  private static TensorProto.Builder lastUsed(ModelProto.Builder model) {
    Map<String, TensorProto.Builder> weights = weights(model);
    for (int leastRank = 2; leastRank > 0; leastRank--) {
      for (NodeProto node : model.getGraph().getNodeList().reversed()) {
        for (String input : node.getInputList()) {
          TensorProto.@Nullable Builder weight = weights.get(input);
          if (weight != null && weight.getDimsCount() >= leastRank) {
            return weight;
          }
        }
      }
    }
    throw new IllegalArgumentException("the model uses no FP32 weights");
  }

  /** By name: initialisers, and the tensors of Constant nodes, where some exporters keep all. */
  private static Map<String, TensorProto.Builder> weights(ModelProto.Builder model) {
    Map<String, TensorProto.Builder> weights = new HashMap<>();
    for (TensorProto.Builder weight : model.getGraphBuilder().getInitializerBuilderList()) {
      weights.put(weight.getName(), weight);
    }
    for (NodeProto.Builder node : model.getGraphBuilder().getNodeBuilderList()) {
      if (node.getOpType().equals("Constant")) {
        for (AttributeProto.Builder attribute : node.getAttributeBuilderList()) {
          if (attribute.hasT()) {
            weights.put(node.getOutput(0), attribute.getTBuilder());
          }
        }
      }
    }
    weights.values().removeIf(weight -> !isLargeFloats(weight));
    return weights;
  }

  private static boolean isLargeFloats(TensorProto.Builder weight) {
    return weight.getDataType() == TensorProto.DataType.FLOAT.getNumber()
        && weight.getDimsList().stream().reduce(1L, (a, b) -> a * b) >= LEAST_ELEMENTS;
  }

  private static void negate(TensorProto.Builder weight) {
    if (weight.hasRawData()) {
      ByteBuffer bytes =
          ByteBuffer.wrap(weight.getRawData().toByteArray()).order(ByteOrder.LITTLE_ENDIAN);
      FloatBuffer values = bytes.asFloatBuffer();
      for (int i = 0; i < values.limit(); i++) {
        values.put(i, -values.get(i));
      }
      weight.setRawData(ByteString.copyFrom(bytes));
    }
    for (int i = 0; i < weight.getFloatDataCount(); i++) {
      weight.setFloatData(i, -weight.getFloatData(i));
    }
  }
}
