package io.pipelane.server.grpc;

import com.google.protobuf.ByteString;
import io.pipelane.protocol.grpc.InferTensorContents;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferInputTensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Inference messages. */
final class Inferences {
  private Inferences() {}

  /** Four floats for the model "echo". */
  static ModelInferRequest raw(String model, float... values) {
    ByteBuffer bytes = ByteBuffer.allocate(values.length * 4).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      bytes.putFloat(value);
    }
    return raw(model, "FP32", ByteString.copyFrom(bytes.flip()), values.length / 4, 4);
  }

  static ModelInferRequest raw(String model, String type, ByteString bytes, long... shape) {
    return ModelInferRequest.newBuilder()
        .setModelName(model)
        .addInputs(input("x", type, shape))
        .addRawInputContents(bytes)
        .build();
  }

  static ModelInferRequest typed(
      String model, String type, InferTensorContents contents, long... shape) {
    return ModelInferRequest.newBuilder()
        .setModelName(model)
        .addInputs(input("x", type, shape).setContents(contents))
        .build();
  }

  static InferInputTensor.Builder input(String name, String type, long... shape) {
    InferInputTensor.Builder input = InferInputTensor.newBuilder().setName(name).setDatatype(type);
    for (long dimension : shape) {
      input.addShape(dimension);
    }
    return input;
  }
}
