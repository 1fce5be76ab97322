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
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Makes a second version of a model that answers otherwise: its largest FP32 weight is scaled. */
final class SecondVersion {
  private static final float SCALE = 1.25f;

  private SecondVersion() {}

  static void write(Path first, Path second) throws IOException {
    ModelProto.Builder model;
    try (InputStream in = Files.newInputStream(first)) {
      model = ModelProto.parseFrom(in).toBuilder();
    }
    TensorProto.Builder largest =
        weights(model).stream()
            .filter(weight -> weight.getDataType() == TensorProto.DataType.FLOAT.getNumber())
            .max(Comparator.comparingInt(weight -> weight.getRawData().size()))
            .orElseThrow(() -> new IllegalArgumentException("no FP32 weights in " + first));
    largest.setRawData(scaled(largest.getRawData()));
    Files.createDirectories(second.getParent());
    Files.write(second, model.build().toByteArray());
  }

  /** Initialisers and the tensors of Constant nodes, which some exporters keep all weights in. */
  private static List<TensorProto.Builder> weights(ModelProto.Builder model) {
    List<TensorProto.Builder> weights =
        new ArrayList<>(model.getGraphBuilder().getInitializerBuilderList());
    for (NodeProto.Builder node : model.getGraphBuilder().getNodeBuilderList()) {
      if (node.getOpType().equals("Constant")) {
        for (AttributeProto.Builder attribute : node.getAttributeBuilderList()) {
          if (attribute.hasT()) {
            weights.add(attribute.getTBuilder());
          }
        }
      }
    }
    return weights;
  }

  private static ByteString scaled(ByteString raw) {
    ByteBuffer bytes = ByteBuffer.wrap(raw.toByteArray()).order(ByteOrder.LITTLE_ENDIAN);
    FloatBuffer values = bytes.asFloatBuffer();
    for (int i = 0; i < values.limit(); i++) {
      values.put(i, values.get(i) * SCALE);
    }
    return ByteString.copyFrom(bytes);
  }
}
