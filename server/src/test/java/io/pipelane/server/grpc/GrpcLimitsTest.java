package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnknownFieldSet.Field;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthGrpc;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.protocol.grpc.ServerLiveRequest;
import io.pipelane.protocol.grpc.ServerReadyRequest;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.CapturedLog;
import io.pipelane.server.net.Http2Frames;
import io.pipelane.server.net.Transport;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.server.statistics.ModelCounters.Objective;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** What connections and slow calls may hold, and the class that calls name in their headers. */
@Timeout(60)
class GrpcLimitsTest {
  private static GrpcServer start(int maxConnections, Duration idleTimeout) {
    GrpcSettings settings =
        new GrpcSettings(
            "127.0.0.1",
            0,
            Transport.AUTO,
            2,
            1 << 20,
            maxConnections,
            idleTimeout,
            Optional.empty());
    return GrpcServer.start(
        settings,
        Backends.of(FakeCatalog.usual(), EchoService.inline()),
        new TransferMemory(Arena.ofAuto().allocate(1 << 20)));
  }

  /** Each would be a line with a trace in the log. */
  @Test
  void whatClientsGetWrong_isNotLogged() throws Exception {
    EchoService service = EchoService.holding();
    try (CapturedLog log = new CapturedLog()) {
      try (GrpcConversation conversation = new GrpcConversation(service)) {
        ByteString tooMuch = ByteString.copyFrom(new byte[2 * GrpcConversation.LARGEST_MESSAGE]);
        ModelInferRequest large =
            ModelInferRequest.newBuilder().addRawInputContents(tooMuch).build();
        var tooLarge =
            assertThrows(
                StatusRuntimeException.class, () -> conversation.client().modelInfer(large));
        assertEquals(Status.Code.RESOURCE_EXHAUSTED, tooLarge.getStatus().getCode());
        var impatient = conversation.client().withDeadlineAfter(200, TimeUnit.MILLISECONDS);
        for (int i = 0; i < 5; i++) {
          assertThrows(
              StatusRuntimeException.class,
              () -> impatient.modelInfer(Inferences.raw("echo", 1, 2, 3, 4)));
        }
        service.pending.forEach(EchoService.Pending::complete);
      }
      assertEquals(List.of(), log.lines());
    }
  }

  private static Socket connect(GrpcServer server) throws IOException {
    return new Socket(server.address().getAddress(), server.address().getPort());
  }

  /** The server speaks first, with its HTTP/2 settings. */
  private static int firstByte(Socket socket) throws IOException {
    try {
      return socket.getInputStream().read();
    } catch (IOException reset) {
      return -1;
    }
  }

  @Test
  void connectionsBeyondTheLimit_areClosed() throws Exception {
    try (GrpcServer server = start(2, Duration.ofSeconds(20));
        Socket first = connect(server)) {
      assertEquals(0, firstByte(first));
      try (Socket second = connect(server)) {
        assertEquals(0, firstByte(second));
        try (Socket third = connect(server)) {
          assertEquals(-1, firstByte(third));
        }
      }
      int again = -1;
      while (again < 0) { // The server sees a little later that the second has gone.
        try (Socket next = connect(server)) {
          again = firstByte(next);
        }
      }
      assertEquals(0, again);
    }
  }

  /** It never answers the ping by which gRPC asks whether calls are still on their way. */
  @Test
  void drain_connectionThatIsSilent_countsAsNoCall() throws Exception {
    try (GrpcServer server = start(2, Duration.ofSeconds(20));
        Socket silent = connect(server)) {
      assertEquals(0, firstByte(silent));
      assertTrue(server.drain(Duration.ofMillis(100)), "no call is under way");
    }
  }

  @Test
  void callWhoseMessageNeverComes_isEnded() throws Exception {
    CompletableFuture<Status> ended = new CompletableFuture<>();
    try (GrpcConversation conversation =
        new GrpcConversation(EchoService.inline(), Duration.ofMillis(300))) {
      ClientCall<ModelInferRequest, ModelInferResponse> call =
          conversation.channel.newCall(
              GRPCInferenceServiceGrpc.getModelInferMethod(), CallOptions.DEFAULT);
      call.start(
          new ClientCall.Listener<>() {
            @Override
            public void onClose(Status status, Metadata trailers) {
              ended.complete(status);
            }
          },
          new Metadata());
      call.request(1);
      assertEquals(Status.Code.CANCELLED, ended.get(30, TimeUnit.SECONDS).getCode());
    }
  }

  @Test
  void callWhoseAnswerIsNotTaken_isEnded() throws Exception {
    try (GrpcConversation conversation =
            new GrpcConversation(EchoService.inline(), Duration.ofMillis(300));
        Socket socket = connect(conversation.server)) {
      socket.getOutputStream().write(Http2Frames.preface());
      socket.getOutputStream().write(Http2Frames.settings(0));
      byte[] call =
          Http2Frames.joined(
              GrpcFramesFuzzTest.call(1, "ModelInfer", GrpcFramesFuzzTest.message()));
      socket.getOutputStream().write(call);
      int type = Http2Frames.skip(socket.getInputStream());
      while (type >= 0 && type != Http2Frames.RST_STREAM) {
        type = Http2Frames.skip(socket.getInputStream());
      }
      assertEquals(Http2Frames.RST_STREAM, type);
    }
  }

  private static MethodDescriptor<String, String> method(MethodType type) {
    MethodDescriptor.Marshaller<String> none =
        new MethodDescriptor.Marshaller<>() {
          @Override
          public InputStream stream(String value) {
            return InputStream.nullInputStream();
          }

          @Override
          public String parse(InputStream stream) {
            return "";
          }
        };
    return MethodDescriptor.<String, String>newBuilder()
        .setType(type)
        .setFullMethodName("s/m")
        .setRequestMarshaller(none)
        .setResponseMarshaller(none)
        .build();
  }

  /** A call of which nothing is asked but its method. */
  private static final class Asked extends ServerCall<String, String> {
    private final MethodType type;

    Asked(MethodType type) {
      this.type = type;
    }

    @Override
    public void request(int messages) {}

    @Override
    public void sendHeaders(Metadata headers) {}

    @Override
    public void sendMessage(String message) {}

    @Override
    public void close(Status status, Metadata trailers) {}

    @Override
    public boolean isCancelled() {
      return false;
    }

    @Override
    public MethodDescriptor<String, String> getMethodDescriptor() {
      return method(type);
    }
  }

  private static Context.CancellableContext begin(
      MessagePace pace, ServerStreamTracer tracer, MethodType type) {
    Context.CancellableContext context = tracer.filterContext(Context.ROOT).withCancellation();
    context.run(
        () ->
            pace.interceptCall(
                new Asked(type), new Metadata(), (_, _) -> new ServerCall.Listener<>() {}));
    return context;
  }

  @Test
  void messageThatTrickles_endsItsCall() {
    MessagePace pace = new MessagePace(Duration.ofSeconds(1));
    ServerStreamTracer fast = pace.newServerStreamTracer("s/m", new Metadata());
    ServerStreamTracer slow = pace.newServerStreamTracer("s/m", new Metadata());
    Context.CancellableContext kept = begin(pace, fast, MethodType.UNARY);
    Context.CancellableContext ended = begin(pace, slow, MethodType.UNARY);
    pace.look();
    for (int period = 0; period < 3; period++) {
      fast.inboundWireSize(1024);
      slow.inboundWireSize(1023);
      pace.look();
      assertFalse(kept.isCancelled());
      assertTrue(ended.isCancelled());
    }
  }

  @Test
  void streamThatIsSilentBetweenMessages_isLeftAlone() {
    MessagePace pace = new MessagePace(Duration.ofSeconds(1));
    ServerStreamTracer tracer = pace.newServerStreamTracer("s/m", new Metadata());
    Context.CancellableContext context = begin(pace, tracer, MethodType.BIDI_STREAMING);
    for (int message = 0; message < 3; message++) {
      pace.look();
      pace.look();
      tracer.inboundMessage(message);
      tracer.inboundWireSize(1);
      pace.look();
      tracer.inboundMessageRead(message, 1, 1);
    }
    assertFalse(context.isCancelled());
    tracer.inboundMessage(3);
    pace.look();
    pace.look();
    assertTrue(context.isCancelled());
  }

  @Test
  void priority_isTheHeadersOfTheCall() throws Exception {
    EchoService echo = EchoService.inline();
    List<Priority> seen = new CopyOnWriteArrayList<>();
    try (GrpcConversation conversation =
        new GrpcConversation(
            (request, handler) -> {
              seen.add(request.priority());
              return echo.submit(request, handler);
            })) {
      ModelInferRequest request = Inferences.raw("echo", 1, 2, 3, 4);
      conversation.client().modelInfer(request);
      conversation
          .client()
          .withInterceptors(conversation.header("pipelane-priority", "offline"))
          .modelInfer(request);
      assertEquals(List.of(Priority.ONLINE, Priority.OFFLINE), seen);
    }
  }

  @Test
  void priorityThatIsNone_failsTheObjectiveOfItsRequest() {
    InferenceStatistics statistics = new InferenceStatistics();
    try (GrpcConversation conversation =
        new GrpcConversation(catalog -> Backends.of(catalog, EchoService.inline(), statistics))) {
      StatusRuntimeException refusal =
          assertThrows(
              StatusRuntimeException.class,
              () ->
                  conversation
                      .client()
                      .withInterceptors(conversation.header("pipelane-priority", "soon"))
                      .modelInfer(Inferences.raw("background", 1, 2, 3, 4)));
      assertEquals(Status.Code.INVALID_ARGUMENT, refusal.getStatus().getCode());
      ModelCounters counters = statistics.of(new ModelVersion("background", 2));
      assertEquals(1, counters.objectives(Objective.FAILED));
    }
  }

  /** It lies here until it is whole, which may take its client as long as it likes. */
  @Test
  void messageForWhichThereIsNoRoom_endsItsCallWhileItComes() {
    MessageLimits limits =
        new MessageLimits(
            bytes -> {
              if (bytes > 100) {
                throw StatusException.unavailable("no room for " + bytes);
              }
            });
    String method = GRPCInferenceServiceGrpc.getModelStreamInferMethod().getFullMethodName();
    ServerStreamTracer call = limits.newServerStreamTracer(method, new Metadata());
    for (int message = 0; message < 2; message++) {
      call.inboundMessage(message);
      call.inboundWireSize(100);
    }
    StatusRuntimeException refused =
        assertThrows(StatusRuntimeException.class, () -> call.inboundWireSize(1));
    assertEquals(Status.Code.UNAVAILABLE, refused.getStatus().getCode());
    assertEquals("no room for 101", refused.getStatus().getDescription());
  }

  /** Nobody needs a key for these. */
  @Test
  void messageOfACallThatSaysHardlyAnything_isNotTakenInBeyondAFewKilobytes() throws Exception {
    String large = "x".repeat(64 << 10);
    UnknownFieldSet unknown =
        UnknownFieldSet.newBuilder()
            .addField(
                9, Field.newBuilder().addLengthDelimited(ByteString.copyFromUtf8(large)).build())
            .build();
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      HealthGrpc.HealthBlockingStub health = HealthGrpc.newBlockingStub(conversation.channel);
      HealthCheckRequest check = HealthCheckRequest.newBuilder().setService(large).build();
      List<Executable> calls =
          List.of(
              () -> health.check(check),
              () -> health.watch(check).next(),
              () ->
                  conversation
                      .client()
                      .serverLive(ServerLiveRequest.newBuilder().setUnknownFields(unknown).build()),
              () ->
                  conversation
                      .client()
                      .serverReady(
                          ServerReadyRequest.newBuilder().setUnknownFields(unknown).build()));
      for (Executable call : calls) {
        StatusRuntimeException refused = assertThrows(StatusRuntimeException.class, call);
        assertEquals(Status.Code.RESOURCE_EXHAUSTED, refused.getStatus().getCode());
      }
    }
  }

  /** As in CVE-2023-44487. */
  @Test
  void clientThatWithdrawsOneCallAfterTheOther_isClosed() throws Exception {
    int calls = 2 * GrpcServer.MAXIMUM_RESETS;
    ByteArrayOutputStream hostile = new ByteArrayOutputStream();
    hostile.writeBytes(Http2Frames.preface());
    hostile.writeBytes(Http2Frames.settings());
    for (int stream = 1; stream <= 2 * calls; stream += 2) {
      List<byte[]> call =
          GrpcFramesFuzzTest.call(stream, "ModelInfer", GrpcFramesFuzzTest.message());
      call.subList(0, 2).forEach(hostile::writeBytes); // All of its head, and no message.
      hostile.writeBytes(Http2Frames.reset(stream));
    }
    hostile.writeBytes(Http2Frames.ping());
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline());
        Socket socket = connect(conversation.server)) {
      assertEquals(-1, untilPing(socket, hostile.toByteArray()));
      assertTrue(
          conversation.client().serverLive(ServerLiveRequest.getDefaultInstance()).getLive());
    }
  }

  /** Says something that ends with a ping: -1 where the server ends the connection before that. */
  private static int untilPing(Socket socket, byte[] said) throws IOException {
    try {
      socket.getOutputStream().write(said);
    } catch (SocketException closed) {
      return -1;
    }
    int type = Http2Frames.skip(socket.getInputStream());
    while (type >= 0 && type != Http2Frames.PING) {
      type = Http2Frames.skip(socket.getInputStream());
    }
    return type;
  }
}
