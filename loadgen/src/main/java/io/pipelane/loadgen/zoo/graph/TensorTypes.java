package io.pipelane.loadgen.zoo.graph;

import ai.onnx.proto.OnnxMl.TensorProto.DataType;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto.Dimension;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;

/** Tensor declarations of a generated graph. */
public final class TensorTypes {
  private TensorTypes() {}

  /**
   * A tensor's name, type and shape.
   *
   * @param dimensions sizes, or names of those that are open
   */
  public static ValueInfoProto of(String name, DataType type, Object... dimensions) {
    TensorShapeProto.Builder shape = TensorShapeProto.newBuilder();
    for (Object dimension : dimensions) {
      shape.addDim(
          dimension instanceof Integer size
              ? Dimension.newBuilder().setDimValue(size)
              : Dimension.newBuilder().setDimParam(dimension.toString()));
    }
    return ValueInfoProto.newBuilder()
        .setName(name)
        .setType(
            TypeProto.newBuilder()
                .setTensorType(
                    TypeProto.Tensor.newBuilder().setElemType(type.getNumber()).setShape(shape)))
        .build();
  }
}
