package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import io.grpc.StatusRuntimeException;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.InferTensorContents;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferInputTensor;
import io.pipelane.server.http.EchoService;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class DescriptionLimitTest {
  private static final int MANY = DescriptionLimit.MOST_BYTES / 2 + 1;

  private static void check(ModelInferRequest message) throws IOException {
    DescriptionLimit.check(CodedInputStream.newInstance(message.toByteArray()));
  }

  private static ModelInferRequest changed(UnaryOperator<ModelInferRequest.Builder> change) {
    return change.apply(ModelInferRequest.newBuilder().setModelName("echo")).build();
  }

  @Test
  void data_mayBeOfAnySize() throws IOException {
    ByteString bytes = ByteString.copyFrom(new byte[2 * DescriptionLimit.MOST_BYTES]);
    InferTensorContents contents = InferTensorContents.newBuilder().addBytesContents(bytes).build();
    check(changed(request -> request.addRawInputContents(bytes).addRawInputContents(bytes)));
    check(
        changed(request -> request.addInputs(InferInputTensor.newBuilder().setContents(contents))));
  }

  @Test
  void description_isBounded_whateverItIsOf() {
    InferInputTensor none = InferInputTensor.getDefaultInstance();
    InferInputTensor shape =
        InferInputTensor.newBuilder().addAllShape(Collections.nCopies(2 * MANY, 1L)).build();
    List<ModelInferRequest> requests =
        List.of(
            changed(request -> request.addAllInputs(Collections.nCopies(MANY, none))),
            changed(request -> request.addInputs(shape)),
            changed(
                request ->
                    request.addAllRawInputContents(Collections.nCopies(MANY, ByteString.EMPTY))));
    for (ModelInferRequest request : requests) {
      StatusException refused = assertThrows(StatusException.class, () -> check(request));
      assertEquals(Status.TOO_LARGE, refused.status());
    }
  }

  /** Some kilobytes may be unpacked to what fills Java's heap. */
  @Test
  void messageOfManyInputs_isRefused_packedOrNot() throws Exception {
    ModelInferRequest many =
        changed(
            request ->
                request.addAllInputs(
                    Collections.nCopies(MANY, InferInputTensor.getDefaultInstance())));
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      for (var client :
          List.of(conversation.client(), conversation.client().withCompression("gzip"))) {
        StatusRuntimeException refused =
            assertThrows(StatusRuntimeException.class, () -> client.modelInfer(many));
        String reason = String.valueOf(refused.getStatus().getDescription());
        assertEquals(
            "the message says more than 1048576 bytes beside its tensors' data;"
                + " ask for less at a time",
            reason);
      }
    }
  }
}
