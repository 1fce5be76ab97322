package io.pipelane.loadgen.request;

import com.google.protobuf.ByteString;
import io.pipelane.loadgen.settings.PreparedRequest;
import io.pipelane.loadgen.settings.Response;
import io.pipelane.protocol.grpc.InferTensorContents;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferInputTensor;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.protocol.grpc.ModelInferResponse.InferOutputTensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The protocol's messages over gRPC; requests have raw contents. */
final class GrpcMessages {
  private GrpcMessages() {}

  static PreparedRequest request(
      ModelMetadata model, List<TensorValue> inputs, List<RequestParameter> parameters) {
    ModelInferRequest.Builder request =
        ModelInferRequest.newBuilder().setModelName(model.name()).setModelVersion(model.version());
    parameters.forEach(parameter -> request.putParameters(parameter.name(), parameter.message()));
    for (TensorValue input : inputs) {
      request
          .addInputs(
              InferInputTensor.newBuilder()
                  .setName(input.name())
                  .setDatatype(input.type().name())
                  .addAllShape(input.shape()))
          .addRawInputContents(ByteString.copyFrom(input.data()));
    }
    return new PreparedRequest(Map.of(), ByteBuffer.wrap(request.build().toByteArray()));
  }

  /** An answer's outputs, be they raw or lists of elements. */
  static Map<String, ByteBuffer> outputs(Response response) throws IOException {
    ModelInferResponse answer = ModelInferResponse.parseFrom(response.body());
    Map<String, ByteBuffer> outputs = new HashMap<>();
    for (int i = 0; i < answer.getOutputsCount(); i++) {
      InferOutputTensor output = answer.getOutputs(i);
      ByteBuffer data =
          i < answer.getRawOutputContentsCount()
              ? answer.getRawOutputContents(i).asReadOnlyByteBuffer()
              : listed(Datatype.valueOf(output.getDatatype()), output.getContents());
      outputs.put(output.getName(), data.order(ByteOrder.LITTLE_ENDIAN));
    }
    return outputs;
  }

  private static ByteBuffer listed(Datatype type, InferTensorContents contents) {
    int bytes =
        switch (type) {
          case BOOL -> contents.getBoolContentsCount();
          case INT8, INT16, INT32 -> type.width() * contents.getIntContentsCount();
          case INT64 -> type.width() * contents.getInt64ContentsCount();
          case UINT8, UINT16, UINT32 -> type.width() * contents.getUintContentsCount();
          case UINT64 -> type.width() * contents.getUint64ContentsCount();
          case FP32 -> type.width() * contents.getFp32ContentsCount();
          case FP64 -> type.width() * contents.getFp64ContentsCount();
          case BYTES ->
              contents.getBytesContentsList().stream()
                  .mapToInt(b -> Integer.BYTES + b.size())
                  .sum();
          case FP16, BF16 -> throw new IllegalArgumentException(type + " travels raw only");
        };
    ByteBuffer to = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    switch (type) {
      case BOOL -> contents.getBoolContentsList().forEach(v -> to.put((byte) (v ? 1 : 0)));
      case INT8 -> contents.getIntContentsList().forEach(v -> to.put(v.byteValue()));
      case UINT8 -> contents.getUintContentsList().forEach(v -> to.put(v.byteValue()));
      case INT16 -> contents.getIntContentsList().forEach(v -> to.putShort(v.shortValue()));
      case UINT16 -> contents.getUintContentsList().forEach(v -> to.putShort(v.shortValue()));
      case INT32 -> contents.getIntContentsList().forEach(to::putInt);
      case UINT32 -> contents.getUintContentsList().forEach(to::putInt);
      case INT64 -> contents.getInt64ContentsList().forEach(to::putLong);
      case UINT64 -> contents.getUint64ContentsList().forEach(to::putLong);
      case FP32 -> contents.getFp32ContentsList().forEach(to::putFloat);
      case FP64 -> contents.getFp64ContentsList().forEach(to::putDouble);
      case BYTES ->
          contents.getBytesContentsList().forEach(v -> to.putInt(v.size()).put(v.toByteArray()));
      case FP16, BF16 -> throw new IllegalArgumentException(type + " travels raw only");
    }
    return to.flip();
  }
}
