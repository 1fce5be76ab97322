package io.pipelane.server.grpc;

import static io.pipelane.server.grpc.Inferences.raw;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.stub.StreamObserver;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.protocol.grpc.ModelStreamInferResponse;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.net.Http2Frames;
import io.pipelane.switcher.InferenceService;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Streams, and calls that are cancelled, overdue or under way when the server drains. */
@Timeout(60)
class GrpcCallsEndTest extends GrpcServerFixture {
  private static final Metadata.Key<String> PUSHBACK =
      Metadata.Key.of("grpc-retry-pushback-ms", Metadata.ASCII_STRING_MARSHALLER);

  @Test
  void stream_answersInOrderAndGoesOnBehindAnError() throws Exception {
    EchoService service = EchoService.holding();
    try (GrpcConversation conversation = new GrpcConversation(service)) {
      BlockingQueue<ModelStreamInferResponse> answers = new LinkedBlockingQueue<>();
      CountDownLatch ended = new CountDownLatch(1);
      StreamObserver<ModelInferRequest> requests =
          GRPCInferenceServiceGrpc.newStub(conversation.channel)
              .modelStreamInfer(collecting(answers, ended));
      requests.onNext(named("a", raw("echo", 1, 1, 1, 1)));
      requests.onNext(named("b", raw("nobody", 1)));
      requests.onNext(named("c", raw("echo", 2, 2, 2, 2)));
      requests.onCompleted();
      while (service.pending.size() < 2) {
        Thread.onSpinWait();
      }
      service.pending.get(1).complete();
      service.pending.get(0).complete();
      assertEquals("a", answers.take().getInferResponse().getId());
      ModelStreamInferResponse refused = answers.take();
      assertTrue(refused.getErrorMessage().contains("nobody"));
      assertEquals("b", refused.getInferResponse().getId());
      ModelInferResponse last = answers.take().getInferResponse();
      assertEquals("c", last.getId());
      assertEquals(raw("echo", 2, 2, 2, 2).getRawInputContents(0), last.getRawOutputContents(0));
      ended.await();
    }
  }

  private static ModelInferRequest named(String id, ModelInferRequest request) {
    return request.toBuilder().setId(id).build();
  }

  @Test
  void stream_ofManyRequests_isAnsweredWhole() throws Exception {
    int count = 20 * InferStream.WINDOW;
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      BlockingQueue<ModelStreamInferResponse> answers = new LinkedBlockingQueue<>();
      CountDownLatch ended = new CountDownLatch(1);
      StreamObserver<ModelInferRequest> requests =
          GRPCInferenceServiceGrpc.newStub(conversation.channel)
              .modelStreamInfer(collecting(answers, ended));
      for (int i = 0; i < count; i++) {
        requests.onNext(named(Integer.toString(i), raw("echo", 1, 2, 3, i)));
      }
      requests.onCompleted();
      ended.await();
      AtomicInteger next = new AtomicInteger();
      answers.forEach(
          answer ->
              assertEquals(
                  Integer.toString(next.getAndIncrement()), answer.getInferResponse().getId()));
      assertEquals(count, answers.size());
    }
  }

  @Test
  void cancelledCall_withdrawsItsRequest() throws Exception {
    EchoService service = EchoService.holding();
    try (GrpcConversation conversation = new GrpcConversation(service)) {
      var call =
          GRPCInferenceServiceGrpc.newFutureStub(conversation.channel)
              .modelInfer(raw("echo", 1, 2, 3, 4));
      while (service.pending.isEmpty()) {
        Thread.onSpinWait();
      }
      call.cancel(true);
      while (!service.pending.getFirst().isCancelled()) {
        Thread.onSpinWait();
      }
      service.pending.getFirst().complete();
    }
  }

  @Test
  void callWithdrawnRightBehindItsMessage_leavesNoRequest() throws Exception {
    EchoService echo = EchoService.holding();
    CountDownLatch last = new CountDownLatch(1);
    InferenceService service =
        (request, handler) -> {
          InferenceService.Ticket ticket = echo.submit(request, handler);
          if (request.inputs().getFirst().shape().dimension(0) == 2) {
            last.countDown();
          }
          return ticket;
        };
    List<byte[]> frames = new ArrayList<>(List.of(Http2Frames.preface(), Http2Frames.settings()));
    frames.addAll(modelInfer(1, raw("echo", 1, 2, 3, 4)));
    frames.add(Http2Frames.reset(1));
    frames.addAll(modelInfer(3, raw("echo", 1, 2, 3, 4, 5, 6, 7, 8)));
    try (GrpcConversation conversation = new GrpcConversation(service);
        Socket client =
            new Socket(
                conversation.server.address().getAddress(),
                conversation.server.address().getPort())) {
      client.getOutputStream().write(Http2Frames.joined(frames));
      last.await();
      for (EchoService.Pending earlier : echo.pending.subList(0, echo.pending.size() - 1)) {
        while (!earlier.isCancelled()) {
          Thread.onSpinWait(); // It was begun before its withdrawal came.
        }
      }
      echo.pending.forEach(EchoService.Pending::complete);
    }
  }

  private static List<byte[]> modelInfer(int stream, ModelInferRequest request) {
    return GrpcFramesFuzzTest.call(stream, "ModelInfer", GrpcFramesFuzzTest.message(request));
  }

  @Test
  void passedDeadline_withdrawsTheRequest() throws Exception {
    EchoService service = EchoService.holding();
    try (GrpcConversation conversation = new GrpcConversation(service)) {
      var client =
          GRPCInferenceServiceGrpc.newBlockingStub(conversation.channel)
              .withDeadlineAfter(1, TimeUnit.SECONDS);
      assertEquals(Code.DEADLINE_EXCEEDED, code(() -> client.modelInfer(raw("echo", 1, 2, 3, 4))));
      if (!service.pending.isEmpty()) {
        while (!service.pending.getFirst().isCancelled()) {
          Thread.onSpinWait();
        }
        service.pending.getFirst().complete();
      }
    }
  }

  @Test
  void drain_finishesRunningCallsAndTakesNoMore() throws Exception {
    EchoService service = EchoService.holding();
    try (GrpcConversation conversation = new GrpcConversation(service)) {
      var call =
          GRPCInferenceServiceGrpc.newFutureStub(conversation.channel)
              .modelInfer(raw("echo", 1, 2, 3, 4));
      while (service.pending.isEmpty()) {
        Thread.onSpinWait();
      }
      conversation.server.beginDrain();
      service.pending.getFirst().complete();
      assertEquals("echo", call.get().getModelName());
      assertTrue(conversation.server.drain(Duration.ofSeconds(20)));
      assertEquals(
          Code.UNAVAILABLE, code(() -> conversation.client().modelInfer(raw("echo", 1, 2, 3, 4))));
    }
  }

  @Test
  void drain_endsAStreamOnceItHasAnswered() throws Exception {
    EchoService service = EchoService.holding();
    try (GrpcConversation conversation = new GrpcConversation(service)) {
      BlockingQueue<ModelStreamInferResponse> answers = new LinkedBlockingQueue<>();
      CompletableFuture<Throwable> end = new CompletableFuture<>();
      StreamObserver<ModelInferRequest> requests =
          GRPCInferenceServiceGrpc.newStub(conversation.channel)
              .modelStreamInfer(
                  new StreamObserver<>() {
                    @Override
                    public void onNext(ModelStreamInferResponse answer) {
                      answers.add(answer);
                    }

                    @Override
                    public void onError(Throwable error) {
                      end.complete(error);
                    }

                    @Override
                    public void onCompleted() {
                      end.completeExceptionally(new AssertionError("the stream has completed"));
                    }
                  });
      requests.onNext(named("taken", raw("echo", 1, 1, 1, 1)));
      while (service.pending.isEmpty()) {
        Thread.onSpinWait();
      }
      var other =
          GRPCInferenceServiceGrpc.newFutureStub(conversation.channel)
              .modelInfer(raw("echo", 3, 3, 3, 3));
      while (service.pending.size() < 2) {
        Thread.onSpinWait();
      }
      conversation.server.beginDrain();
      requests.onNext(named("late", raw("echo", 2, 2, 2, 2)));
      other.cancel(true);
      while (!service.pending.get(1).isCancelled()) {
        Thread.onSpinWait(); // This comes over the same connection, behind the late message.
      }
      assertFalse(end.isDone());
      assertEquals(2, service.pending.size());
      service.pending.get(1).complete();
      service.pending.getFirst().complete();
      assertEquals("taken", answers.take().getInferResponse().getId());
      ModelStreamInferResponse late = answers.take();
      assertEquals("late", late.getInferResponse().getId());
      assertEquals("the server is shutting down", late.getErrorMessage());
      assertEquals(Code.UNAVAILABLE, Status.fromThrowable(end.get()).getCode());
      Metadata trailers = Objects.requireNonNull(Status.trailersFromThrowable(end.get()));
      assertEquals("1000", trailers.get(PUSHBACK));
      assertTrue(conversation.server.drain(Duration.ofSeconds(20)));
    }
  }

  @Test
  void drain_endsStreamsThatNothingIsAskedOf() throws Exception {
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      CountDownLatch inferences = new CountDownLatch(1);
      CountDownLatch reflection = new CountDownLatch(1);
      BlockingQueue<ModelStreamInferResponse> answers = new LinkedBlockingQueue<>();
      BlockingQueue<ServerReflectionResponse> services = new LinkedBlockingQueue<>();
      GRPCInferenceServiceGrpc.newStub(conversation.channel)
          .modelStreamInfer(collecting(answers, inferences))
          .onNext(raw("echo", 1, 2, 3, 4));
      ServerReflectionGrpc.newStub(conversation.channel)
          .serverReflectionInfo(collecting(services, reflection))
          .onNext(ServerReflectionRequest.newBuilder().setListServices("").build());
      var _ = answers.take();
      var _ = services.take();
      assertTrue(conversation.server.drain(Duration.ofSeconds(20)));
      inferences.await();
      reflection.await();
    }
  }
}
