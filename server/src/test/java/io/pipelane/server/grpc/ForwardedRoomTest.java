package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.Metadata;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.server.hosts.BareHost;
import io.pipelane.server.hosts.FakeRegistry;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.hosts.LocalLoad;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.memory.HeapRoom;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.net.Transport;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How long a large message keeps its room of the heap where other hosts may answer it. */
@Timeout(60)
class ForwardedRoomTest {
  private static final ByteString DATA = ByteString.copyFrom(new byte[1 << 20]);

  private final FakeRegistry registry = new FakeRegistry();
  private final EchoService echo = EchoService.holding();
  private final BareHost other;
  private final Hosts hosts = registry.hosts();
  private final long takenBefore = HeapRoom.OF_REQUESTS.takenBytes();
  private volatile long stallNanos;
  private final GrpcConversation conversation;

  ForwardedRoomTest() throws IOException {
    other = new BareHost();
    LocalLoad load = new LocalLoad(echo, _ -> stallNanos, () -> 1);
    conversation = new GrpcConversation(catalog -> Backends.of(catalog, load), Optional.of(hosts));
    hosts.start(
        URI.create("http://127.0.0.1:1"), Transport.AUTO.resolve(), conversation.catalog, load);
  }

  @AfterEach
  void end() {
    conversation.close();
    hosts.close();
    other.close();
  }

  private static ModelInferRequest large(String model) {
    return Inferences.raw(model, "FP32", DATA, DATA.size() / 16, 4);
  }

  private Future<ModelInferResponse> infer(ModelInferRequest request) {
    return GRPCInferenceServiceGrpc.newFutureStub(conversation.channel).modelInfer(request);
  }

  private long takenBytes() {
    return HeapRoom.OF_REQUESTS.takenBytes() - takenBefore;
  }

  private void awaitRoomGivenBack() {
    while (takenBytes() != 0) {
      assertFalse(Thread.currentThread().isInterrupted(), "it is given back by another thread");
      Thread.onSpinWait();
    }
  }

  private EchoService.Pending awaitPending() {
    while (echo.pending.isEmpty()) {
      assertFalse(Thread.currentThread().isInterrupted(), "the server takes the message apart");
      Thread.onSpinWait();
    }
    return echo.pending.getFirst();
  }

  @Test
  void messageThatIsAnsweredHere_keepsNoneOnceDecoded() throws Exception {
    Future<ModelInferResponse> answer = infer(large("echo"));
    EchoService.Pending pending = awaitPending();
    awaitRoomGivenBack();
    pending.complete();
    assertEquals(DATA, answer.get().getRawOutputContents(0));
  }

  @Test
  void messageThatComesBack_keepsItUntilItIsDecodedHere() throws Exception {
    stallNanos = 1_000_000_000;
    registry.has(other.url(), "echo", 2, false, Duration.ZERO);
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch seen = new CountDownLatch(1);
    other.then(
        socket -> {
          asked.countDown();
          seen.await();
          socket
              .getOutputStream()
              .write(
                  BareHost.text("503 Service Unavailable", "{}")
                      .getBytes(StandardCharsets.ISO_8859_1));
        });
    Future<ModelInferResponse> answer = infer(large("echo"));
    asked.await();
    assertTrue(takenBytes() > DATA.size());
    seen.countDown();
    EchoService.Pending pending = awaitPending();
    awaitRoomGivenBack();
    pending.complete();
    assertEquals(DATA, answer.get().getRawOutputContents(0));
  }

  @Test
  void messageWhoseClientGoes_keepsNone() throws Exception {
    registry.has(other.url(), "far", 1, false, Duration.ZERO);
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch closed = new CountDownLatch(1);
    other.then(BareHost.silent(asked, closed));
    Future<ModelInferResponse> answer = infer(large("far"));
    asked.await();
    assertTrue(takenBytes() > DATA.size());
    assertTrue(answer.cancel(true));
    awaitRoomGivenBack();
    closed.await();
  }

  @Test
  void messageThatIsAnsweredElsewhere_orRefused_keepsNone() {
    registry.has(other.url(), "far", 1, false, Duration.ZERO);
    ModelInferResponse there = ModelInferResponse.newBuilder().setId("there").build();
    other.then(
        "200 OK",
        new String(there.toByteArray(), StandardCharsets.ISO_8859_1),
        "Content-Type: application/x-protobuf");
    assertEquals(there, conversation.client().modelInfer(large("far")));
    awaitRoomGivenBack();
    other.then("400 Bad Request", "{}");
    assertRefused(Code.INVALID_ARGUMENT, large("far"));
    ByteString tooLarge = ByteString.copyFrom(new byte[GrpcConversation.LARGEST_MESSAGE]);
    assertRefused(
        Code.RESOURCE_EXHAUSTED, Inferences.raw("far", "FP32", tooLarge, tooLarge.size() / 16, 4));
    assertRefused(Code.NOT_FOUND, large("nobody's"));
  }

  private void assertRefused(Code code, ModelInferRequest request) {
    StatusRuntimeException refusal =
        assertThrows(StatusRuntimeException.class, () -> conversation.client().modelInfer(request));
    assertEquals(code, refusal.getStatus().getCode());
    awaitRoomGivenBack();
  }

  /** Notes what it is told. */
  private record Noting(List<String> told) implements ForwardedCall.End {
    @Override
    public void here() {
      told.add("here");
    }

    @Override
    public void cancelled() {
      told.add("cancelled");
    }

    @Override
    public void answered(ModelInferResponse message, AnswerHeaders headers) {
      told.add("answered");
    }

    @Override
    public void failed(StatusException error) {
      told.add("failed");
    }
  }

  /** The message belongs to a codec thread until that has serialized it. */
  @Test
  void cancellation_isToldOnceNothingReadsTheMessage() throws Exception {
    registry.has(other.url(), "far", 1, false, Duration.ZERO);
    List<Runnable> codec = new ArrayList<>();
    List<String> told = new ArrayList<>();
    try (MultiThreadIoEventLoopGroup loops =
        new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory())) {
      InferenceParts parts =
          new InferenceParts(
              Backends.of(conversation.catalog, echo),
              new TransferBuffers(new TransferMemory(Arena.ofAuto().allocate(1 << 20))),
              UnpooledByteBufAllocator.DEFAULT,
              loops,
              codec::add,
              1 << 30);
      loops
          .submit(
              () -> {
                ForwardedCall call =
                    ForwardedCall.begin(
                        hosts.elsewhere("far", "", null, () -> "").orElseThrow(),
                        large("far"),
                        new Metadata(),
                        parts,
                        new Noting(told));
                call.cancel();
              })
          .get();
      assertEquals(List.of(), told);
      codec.getFirst().run();
      loops.submit(() -> {}).get();
      assertEquals(List.of("cancelled"), told);
    }
    assertEquals(0, other.received.size());
  }
}
