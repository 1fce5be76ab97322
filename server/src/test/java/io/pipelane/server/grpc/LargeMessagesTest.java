package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.CallOptions;
import io.grpc.Detachable;
import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.protocol.grpc.ModelStreamInferResponse;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.memory.HeapRoom;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.switcher.InferenceService;
import java.io.ByteArrayInputStream;
import java.io.FilterInputStream;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What would hold an event loop for too long is parsed, decompressed and sent elsewhere. */
@Timeout(60)
class LargeMessagesTest {
  private static final int LARGE = 2 * CodecThreads.LARGEST_ON_LOOP;
  private static final ModelInferRequest SMALL_REQUEST = Inferences.raw("echo", 1, 2, 3, 4);

  private static ModelInferRequest large() {
    byte[] bytes = new byte[LARGE];
    new Random(7).nextBytes(bytes);
    return Inferences.raw("echo", "FP32", ByteString.copyFrom(bytes), LARGE / 16, 4);
  }

  /** Bytes that belong to whoever detaches them, as gRPC's. */
  static final class Bytes extends ByteArrayInputStream implements KnownLength, Detachable {
    private boolean isGivenBack;

    Bytes(byte[] bytes) {
      super(bytes);
    }

    @Override
    public InputStream detach() {
      return new FilterInputStream(new ByteArrayInputStream(readAllBytes())) {
        @Override
        public void close() {
          isGivenBack = true;
        }
      };
    }
  }

  private static IncomingMessage incoming(InputStream stream) {
    return incoming(stream, HeapRoom.OF_REQUESTS);
  }

  private static IncomingMessage incoming(InputStream stream, HeapRoom heap) {
    return new IncomingMarshaller(
            ProtoUtils.marshaller(ModelInferRequest.getDefaultInstance()), heap)
        .parse(stream);
  }

  /** Room for one at a time, until whoever has read it needs it no longer. */
  @Test
  void largeMessage_hasRoomOfTheHeapUntilItIsClosed() {
    HeapRoom heap = new HeapRoom(3L * LARGE);
    IncomingMessage first = incoming(new Bytes(large().toByteArray()), heap);
    assertEquals(0, heap.takenBytes());
    assertEquals(large(), first.parse());
    assertTrue(heap.takenBytes() >= 2 * LARGE);
    IncomingMessage second = incoming(new Bytes(large().toByteArray()), heap);
    assertEquals(Status.UNAVAILABLE, assertThrows(StatusException.class, second::parse).status());
    second.close();
    first.close();
    first.close();
    assertEquals(0, heap.takenBytes());
    assertEquals(large(), incoming(new Bytes(large().toByteArray()), heap).parse());
    IncomingMessage never = incoming(new Bytes(large().toByteArray()), new HeapRoom(LARGE));
    assertEquals(
        Status.INSUFFICIENT_MEMORY, assertThrows(StatusException.class, never::parse).status());
  }

  @Test
  void smallMessage_isParsedWhereItComes_aLargeOneIsNot() {
    assertFalse(incoming(new Bytes(SMALL_REQUEST.toByteArray())).isLarge());
    IncomingMessage large = incoming(new Bytes(large().toByteArray()));
    assertTrue(large.isLarge());
    assertEquals(large(), large.parse());
    assertFalse(large.isLarge());
    assertEquals(large(), large.parse());
  }

  @Test
  void largeMessage_givesItsBytesBack_readOrNot() {
    Bytes read = new Bytes(large().toByteArray());
    incoming(read).parse();
    assertTrue(read.isGivenBack);
    Bytes unread = new Bytes(large().toByteArray());
    IncomingMessage message = incoming(unread);
    assertFalse(unread.isGivenBack);
    message.close();
    assertTrue(unread.isGivenBack);
    assertThrows(IllegalStateException.class, message::parse);
  }

  @Test
  void whatIsNoMessage_isTheCallersMistake() {
    for (int size : new int[] {7, LARGE}) {
      byte[] wrong = new byte[size];
      wrong[0] = 7;
      IncomingMessage message = incoming(new Bytes(wrong));
      StatusException error = assertThrows(StatusException.class, message::parse);
      assertEquals(Status.INVALID_ARGUMENT, error.status());
    }
  }

  /** Echoes, and says which threads have submitted. */
  private record Watching(InferenceService echo, List<String> threads) implements InferenceService {
    @Override
    public Ticket submit(
        io.pipelane.switcher.InferenceRequest request, io.pipelane.switcher.ResultHandler handler) {
      threads.add(Thread.currentThread().getName());
      return echo.submit(request, handler);
    }
  }

  @Test
  void requests_areDecodedOnTheThreadThatTheirSizeCallsFor() throws Exception {
    List<String> threads = new CopyOnWriteArrayList<>();
    InferenceService service = new Watching(EchoService.inline(), threads);
    try (GrpcConversation conversation = new GrpcConversation(service)) {
      var client = conversation.client();
      client.modelInfer(SMALL_REQUEST);
      ModelInferResponse answer = client.modelInfer(large());
      assertEquals(large().getRawInputContents(0), answer.getRawOutputContents(0));
      assertEquals(answer, client.withCompression("gzip").modelInfer(large()));
      client.withCompression("gzip").modelInfer(SMALL_REQUEST);
      BlockingQueue<ModelStreamInferResponse> answers = new LinkedBlockingQueue<>();
      StreamObserver<ModelInferRequest> requests =
          GRPCInferenceServiceGrpc.newStub(conversation.channel)
              .withDeadlineAfter(30, TimeUnit.SECONDS)
              .modelStreamInfer(into(answers));
      requests.onNext(large());
      assertEquals(answer, answers.take().getInferResponse());
      requests.onNext(SMALL_REQUEST);
      answers.take();
      requests.onCompleted();
      assertEquals(
          List.of(false, true, true, true, true, false),
          threads.stream().map(name -> name.startsWith("grpc-codec")).toList());
      assertEquals(0, conversation.transferMemory.lentBytes());
    }
  }

  @Test
  void messageThatIsTooLargeDecompressed_isRefusedAsSuch() throws Exception {
    byte[] zeros = new byte[GrpcConversation.LARGEST_MESSAGE + (2 << 20)];
    ModelInferRequest request =
        Inferences.raw("echo", "FP32", ByteString.copyFrom(zeros), zeros.length / 16, 4);
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      var client = conversation.client().withCompression("gzip");
      StatusRuntimeException error =
          assertThrows(StatusRuntimeException.class, () -> client.modelInfer(request));
      assertEquals(Code.RESOURCE_EXHAUSTED, error.getStatus().getCode(), error::getMessage);
      assertEquals("echo", client.modelInfer(SMALL_REQUEST).getModelName());
    }
  }

  @Test
  void streamsMessageThatIsTooLargeDecompressed_isAnsweredByItsId_andOthersGoOn() throws Exception {
    byte[] zeros = new byte[GrpcConversation.LARGEST_MESSAGE + (2 << 20)];
    ModelInferRequest request =
        Inferences.raw("echo", "FP32", ByteString.copyFrom(zeros), zeros.length / 16, 4);
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      BlockingQueue<ModelStreamInferResponse> answers = new LinkedBlockingQueue<>();
      StreamObserver<ModelInferRequest> requests =
          GRPCInferenceServiceGrpc.newStub(conversation.channel)
              .withCompression("gzip")
              .withDeadlineAfter(30, TimeUnit.SECONDS)
              .modelStreamInfer(into(answers));
      for (String id : List.of("large", "")) {
        requests.onNext(request.toBuilder().setId(id).build());
        ModelStreamInferResponse refused = answers.take();
        String reason = refused.getErrorMessage();
        assertTrue(reason.contains("server.max-request-size"), reason);
        assertEquals(id, refused.getInferResponse().getId());
      }
      requests.onNext(SMALL_REQUEST);
      assertEquals("echo", answers.take().getInferResponse().getModelName());
      requests.onCompleted();
    }
  }

  @Test
  void streamsMessageThatIsNone_isAnsweredWithItsError() {
    MethodDescriptor<ModelInferRequest, ModelStreamInferResponse> method =
        GRPCInferenceServiceGrpc.getModelStreamInferMethod();
    MethodDescriptor<ModelStreamInferResponse, ModelStreamInferResponse> wrong =
        method.toBuilder(method.getResponseMarshaller(), method.getResponseMarshaller()).build();
    ModelStreamInferResponse noRequest =
        ModelStreamInferResponse.newBuilder().setErrorMessage("\u0007").build();
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      BlockingQueue<ModelStreamInferResponse> answers = new LinkedBlockingQueue<>();
      StreamObserver<ModelStreamInferResponse> requests =
          ClientCalls.asyncBidiStreamingCall(
              conversation.channel.newCall(
                  wrong, CallOptions.DEFAULT.withDeadlineAfter(30, TimeUnit.SECONDS)),
              into(answers));
      for (int i = 0; i < 2; i++) {
        requests.onNext(noRequest);
        assertFalse(answers.take().getErrorMessage().isEmpty());
      }
      requests.onCompleted();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  static <T> StreamObserver<T> into(BlockingQueue<T> answers) {
    return new StreamObserver<>() {
      @Override
      public void onNext(T answer) {
        answers.add(answer);
      }

      @Override
      public void onError(Throwable error) {}

      @Override
      public void onCompleted() {}
    };
  }

  /** A stream's client, who notes which threads send to it. */
  private static final class Client extends ServerCallStreamObserver<StreamAnswer> {
    private final BlockingQueue<String> threads = new LinkedBlockingQueue<>();

    @Override
    public void onNext(StreamAnswer answer) {
      threads.add(Thread.currentThread().getName().replaceAll("[0-9-]+$", ""));
    }

    @Override
    public void onError(Throwable error) {
      threads.add("failed");
    }

    @Override
    public void onCompleted() {
      threads.add("completed");
    }

    @Override
    public boolean isCancelled() {
      return false;
    }

    @Override
    public boolean isReady() {
      return true;
    }

    @Override
    public void setOnCancelHandler(Runnable handler) {}

    @Override
    public void setOnReadyHandler(Runnable handler) {}

    @Override
    public void setCompression(String compression) {}

    @Override
    public void disableAutoInboundFlowControl() {}

    @Override
    public void disableAutoRequest() {}

    @Override
    public void request(int count) {}

    @Override
    public void setMessageCompression(boolean enable) {}
  }

  /** Three requests of one stream, that {@code ends} has answered or not. */
  private static void askThree(
      EchoService service, Client client, UnpooledByteBufAllocator allocator, Ending ends)
      throws Exception {
    CodecThreads codecs = new CodecThreads("codec");
    try (Arena arena = Arena.ofShared();
        MultiThreadIoEventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(
                1, new DefaultThreadFactory("loop", true), NioIoHandler.newFactory())) {
      InferenceParts parts =
          new InferenceParts(
              Backends.of(FakeCatalog.usual(), service),
              new TransferBuffers(new TransferMemory(arena.allocate(4 << 20))),
              allocator,
              loops,
              codecs,
              1 << 30);
      InferStream stream =
          loops
              .submit(
                  () -> {
                    InferStream asked = new InferStream(parts, new LastingCalls(), client);
                    for (int i = 0; i < 3; i++) {
                      asked.onNext(incoming(new Bytes(SMALL_REQUEST.toByteArray())));
                    }
                    return asked;
                  })
              .get();
      service.pending.get(1).completeWith(new byte[LARGE]);
      service.pending.get(2).complete();
      ends.end(stream, loops);
      codecs.stop(Duration.ofSeconds(20));
    }
    assertEquals(0, allocator.metric().usedDirectMemory(), "what waited has been given back");
  }

  /** What becomes of a stream of which two answers wait for the first. */
  private interface Ending {
    void end(InferStream stream, Executor loop) throws InterruptedException;
  }

  @Test
  void largeAnswersThatWaitedForTheirTurn_areNotSentByAnEventLoop() throws Exception {
    EchoService service = EchoService.holding();
    Client client = new Client();
    askThree(
        service,
        client,
        new UnpooledByteBufAllocator(true),
        (stream, loop) -> {
          stream.onCompleted();
          loop.execute(() -> service.pending.get(0).complete());
          assertEquals("loop", client.threads.take());
          assertEquals("codec", client.threads.take());
          assertEquals("codec", client.threads.take());
          assertEquals("completed", client.threads.take());
        });
  }

  @Test
  void answersThatWaitForTheirTurn_areKeptOutsideTheHeap_andGivenUpWithTheirStream()
      throws Exception {
    UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    EchoService service = EchoService.holding();
    Client client = new Client();
    askThree(
        service,
        client,
        allocator,
        (stream, _) -> {
          while (allocator.metric().usedDirectMemory() <= LARGE) {
            Thread.onSpinWait(); // A codec thread keeps the answer.
          }
          stream.onError(new InterruptedException("the client has gone"));
          service.pending.get(0).complete();
        });
    assertEquals(0, client.threads.size());
  }
}
