package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallOptions;
import io.grpc.Codec;
import io.grpc.CompressorRegistry;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.stub.ClientCalls;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.ServerLiveRequest;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.net.CapturedLog;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Messages that cannot be read, in each of the calls: the clients' mistake, which is not logged.
 */
@Timeout(60)
class UnreadableMessagesTest {
  /** A field's length that goes beyond the end. */
  private static final byte[] BROKEN = {10, 100, 1};

  private static List<MethodDescriptor<byte[], byte[]>> methods() {
    List<MethodDescriptor<?, ?>> all = new ArrayList<>();
    all.addAll(GRPCInferenceServiceGrpc.getServiceDescriptor().getMethods());
    all.remove(GRPCInferenceServiceGrpc.getModelStreamInferMethod()); // Answers, and goes on.
    all.addAll(HealthGrpc.getServiceDescriptor().getMethods());
    all.addAll(ServerReflectionGrpc.getServiceDescriptor().getMethods());
    all.addAll(io.grpc.reflection.v1alpha.ServerReflectionGrpc.getServiceDescriptor().getMethods());
    List<MethodDescriptor<byte[], byte[]>> methods = new ArrayList<>();
    for (MethodDescriptor<?, ?> method : all) {
      methods.add(method.toBuilder(new BytesMarshaller(), new BytesMarshaller()).build());
    }
    return methods;
  }

  /** A message whose one field is the model's name, where it may be large, or is unknown. */
  private static byte[] largeFor(MethodDescriptor<byte[], byte[]> method) {
    boolean large =
        List.of("ModelInfer", "RepositoryModelLoad").contains(method.getBareMethodName());
    int length = large ? 2 * GrpcConversation.LARGEST_MESSAGE : 2 << 20;
    byte[] message = new byte[length];
    message[0] = (byte) (((large ? 1 : 15) << 3) | 2);
    for (int rest = length, i = 1; rest > 0; i++, rest >>>= 7) {
      message[i] = (byte) ((rest & 0x7f) | 0x80);
    }
    return message;
  }

  /** How a call ends. */
  private static Status end(
      ManagedChannel channel,
      MethodDescriptor<byte[], byte[]> method,
      byte[] message,
      CallOptions options) {
    try {
      Iterator<byte[]> answers =
          ClientCalls.blockingServerStreamingCall(channel, method, options, message);
      while (answers.hasNext()) {
        answers.next();
      }
      return Status.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus();
    }
  }

  private static void assertRefused(
      GrpcConversation conversation,
      ManagedChannel channel,
      Function<MethodDescriptor<byte[], byte[]>, byte[]> message,
      CallOptions options,
      Code code,
      String reason)
      throws IOException {
    try (CapturedLog log = new CapturedLog()) {
      for (MethodDescriptor<byte[], byte[]> method : methods()) {
        Status end = end(channel, method, message.apply(method), options);
        String label = method.getFullMethodName() + " " + end;
        if (end.getCode() != Code.UNIMPLEMENTED) {
          assertEquals(code, end.getCode(), label);
          assertTrue(String.valueOf(end.getDescription()).contains(reason), label);
        }
      }
      assertTrue(
          conversation.client().serverLive(ServerLiveRequest.getDefaultInstance()).getLive());
      assertEquals(List.of(), log.lines());
    }
  }

  @Test
  void bytesThatAreNoMessage_areInvalid() throws IOException {
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      for (CallOptions options :
          List.of(CallOptions.DEFAULT, CallOptions.DEFAULT.withCompression("gzip"))) {
        assertRefused(
            conversation,
            conversation.channel,
            _ -> BROKEN,
            options,
            Code.INVALID_ARGUMENT,
            "not of protocol buffers");
      }
    }
  }

  /** Packs nothing, and says that it has. */
  private static final class Deceiving implements Codec {
    @Override
    public String getMessageEncoding() {
      return "gzip";
    }

    @Override
    public InputStream decompress(InputStream packed) {
      return packed;
    }

    @Override
    public OutputStream compress(OutputStream packed) {
      return packed;
    }
  }

  @Test
  void bytesThatAreNotPackedAsTheySay_areInvalid() throws IOException {
    CompressorRegistry deceiving = CompressorRegistry.newEmptyInstance();
    deceiving.register(new Deceiving());
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      ManagedChannel channel =
          NettyChannelBuilder.forAddress(conversation.server.address())
              .usePlaintext()
              .compressorRegistry(deceiving)
              .build();
      try {
        assertRefused(
            conversation,
            channel,
            _ -> new byte[40],
            CallOptions.DEFAULT.withCompression("gzip"),
            Code.INVALID_ARGUMENT,
            "not of protocol buffers");
      } finally {
        channel.shutdownNow();
      }
    }
  }

  /** Nobody needs a key for some of the calls. */
  @Test
  void messagesThatAreTooLargeUnpacked_areRefusedForTheirSize() throws IOException {
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      assertRefused(
          conversation,
          conversation.channel,
          UnreadableMessagesTest::largeFor,
          CallOptions.DEFAULT.withCompression("gzip"),
          Code.RESOURCE_EXHAUSTED,
          "the message is larger");
    }
  }
}
