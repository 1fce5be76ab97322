package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.CallOptions;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.InferTensorContents;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ServerLiveRequest;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.net.Damage;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Damaged messages: each is answered, none as the server's fault, and nothing is kept of them. */
@Timeout(600)
class GrpcFuzzTest {
  private static final int CASES = Boolean.getBoolean("pipelane.long") ? 100_000 : 4_000;

  private static final Set<Code> REFUSALS =
      EnumSet.of(
          Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.RESOURCE_EXHAUSTED, Code.UNIMPLEMENTED);

  private static final MethodDescriptor<byte[], byte[]> INFER =
      MethodDescriptor.newBuilder(new BytesMarshaller(), new BytesMarshaller())
          .setType(MethodType.UNARY)
          .setFullMethodName(GRPCInferenceServiceGrpc.getModelInferMethod().getFullMethodName())
          .build();

  private static List<byte[]> sound() {
    return List.of(
        Inferences.raw("echo", 1, 2, 3, 4, 5, 6, 7, 8).toBuilder().setId("i").build().toByteArray(),
        Inferences.typed(
                "echo_INT8",
                "INT8",
                InferTensorContents.newBuilder().addIntContents(1).addIntContents(-1).build(),
                2)
            .toByteArray(),
        ModelInferRequest.newBuilder()
            .setModelName("pair")
            .addInputs(Inferences.input("a", "INT64", 1))
            .addInputs(Inferences.input("b", "BYTES", 1))
            .addRawInputContents(ByteString.copyFrom(new byte[8]))
            .addRawInputContents(ByteString.copyFrom(new byte[] {2, 0, 0, 0, 65, 66}))
            .build()
            .toByteArray());
  }

  @Test
  void damagedMessages_areAnsweredAndForgotten() throws Exception {
    long seed = Long.getLong("pipelane.seed", System.nanoTime());
    Random random = new Random(seed);
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      for (int i = 0; i < CASES; i++) {
        byte[] message = Damage.of(sound().get(random.nextInt(sound().size())), random);
        String label = "seed " + seed + ", case " + i;
        try {
          byte[] answer =
              ClientCalls.blockingUnaryCall(
                  conversation.channel, INFER, CallOptions.DEFAULT, message);
          assertTrue(answer.length > 0, label);
        } catch (StatusRuntimeException e) {
          Code code = e.getStatus().getCode();
          assertTrue(REFUSALS.contains(code), () -> label + ": " + e.getMessage());
        }
      }
      assertTrue(
          conversation.client().serverLive(ServerLiveRequest.getDefaultInstance()).getLive());
      assertEquals(0, conversation.transferMemory.lentBytes());
    }
  }
}
