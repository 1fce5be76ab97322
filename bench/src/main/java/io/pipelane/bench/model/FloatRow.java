package io.pipelane.bench.model;

import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto.Dimension;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;

/** A model's input or output of one row of FP32. */
final class FloatRow {
  private FloatRow() {}

  static ValueInfoProto named(String name, int width) {
    TensorShapeProto shape =
        TensorShapeProto.newBuilder()
            .addDim(Dimension.newBuilder().setDimValue(1))
            .addDim(Dimension.newBuilder().setDimValue(width))
            .build();
    return ValueInfoProto.newBuilder()
        .setName(name)
        .setType(
            TypeProto.newBuilder()
                .setTensorType(
                    TypeProto.Tensor.newBuilder()
                        .setElemType(TensorProto.DataType.FLOAT.getNumber())
                        .setShape(shape)))
        .build();
  }
}
