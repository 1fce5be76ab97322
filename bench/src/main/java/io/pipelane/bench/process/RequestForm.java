package io.pipelane.bench.process;

import com.google.protobuf.ByteString;
import io.pipelane.demo.protocol.InferenceMessages;
import io.pipelane.demo.protocol.InferenceMessages.BinaryBody;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.loadgen.settings.PreparedRequest;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferInputTensor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** The form in which an inference request is written. */
public enum RequestForm {
  /** Over HTTP, tensors as bytes both ways. */
  BINARY,
  /** Over HTTP, all of it JSON. */
  JSON,
  /** Over gRPC, raw contents. */
  GRPC;

  /** A request of this form; as JSON, FP32 and INT64 inputs can be written. */
  public PreparedRequest request(String model, List<Tensor> inputs) {
    return switch (this) {
      case BINARY -> {
        BinaryBody body = InferenceMessages.binaryRequest(inputs);
        yield PreparedRequest.binary(body.bytes(), body.jsonLength());
      }
      case JSON ->
          PreparedRequest.json(
              InferenceMessages.jsonRequest(inputs).getBytes(StandardCharsets.UTF_8));
      case GRPC ->
          new PreparedRequest(Map.of(), ByteBuffer.wrap(message(model, inputs).toByteArray()));
    };
  }

  private static ModelInferRequest message(String model, List<Tensor> inputs) {
    ModelInferRequest.Builder request = ModelInferRequest.newBuilder().setModelName(model);
    for (Tensor input : inputs) {
      request
          .addInputs(
              InferInputTensor.newBuilder()
                  .setName(input.name())
                  .setDatatype(input.type().name())
                  .addAllShape(Arrays.stream(input.shape().toArray()).boxed().toList()))
          .addRawInputContents(ByteString.copyFrom(input.data()));
    }
    return request.build();
  }
}
