package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallOptions;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferInputTensor;
import io.pipelane.protocol.grpc.ModelStreamInferResponse;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.net.CapturedLog;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Errors that quote what a client has sent, however long that is. */
@Timeout(60)
class LongTextsTest {
  private static final int BYTES_OF_HEADERS_TAKEN = 8 << 10;

  private static ModelInferRequest of(String model) {
    return ModelInferRequest.newBuilder().setModelName(model).setId("7").build();
  }

  private static ModelStreamInferResponse streamed(
      GrpcConversation conversation, ModelInferRequest request) {
    return ClientCalls.blockingServerStreamingCall(
            conversation.channel,
            GRPCInferenceServiceGrpc.getModelStreamInferMethod(),
            CallOptions.DEFAULT,
            request)
        .next();
  }

  @ParameterizedTest
  @ValueSource(strings = {"m", "%", "\u00e9", "\u4e2d", "\ud83d\ude00"})
  void errorThatQuotesALongName_reachesTheClient(String part) {
    ModelInferRequest request = of(part.repeat(50_000));
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      StatusRuntimeException error =
          assertThrows(
              StatusRuntimeException.class, () -> conversation.client().modelInfer(request));
      assertEquals(Code.NOT_FOUND, error.getStatus().getCode(), error.getMessage());
      String text = String.valueOf(error.getStatus().getDescription());
      assertTrue(text.contains("model \"" + part), text);
      assertTrue(text.endsWith(part + "..."), text);
      assertTrue(text.length() > 400, text);
      ModelStreamInferResponse answer = streamed(conversation, request);
      assertEquals("7", answer.getInferResponse().getId());
      assertEquals(text, answer.getErrorMessage());
      assertTrue(answer.getSerializedSize() < BYTES_OF_HEADERS_TAKEN);
    }
  }

  /** Half of a pair of surrogates is no text: what makes messages logs it, with a trace. */
  @Test
  void nameThatIsCutBetweenSurrogates_isNotLogged() {
    String name = "a".repeat(63) + "\ud83d\ude00".repeat(2);
    ModelInferRequest request =
        of("echo").toBuilder().addInputs(InferInputTensor.newBuilder().setName(name)).build();
    try (CapturedLog log = new CapturedLog();
        GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      String text = streamed(conversation, request).getErrorMessage();
      assertTrue(text.contains("\"" + "a".repeat(63) + "...\""), text);
      assertEquals(List.of(), log.lines());
    }
  }
}
