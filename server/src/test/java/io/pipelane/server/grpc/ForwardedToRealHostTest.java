package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.Metadata;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.InferTensorContents;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferRequestedOutputTensor;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.server.hosts.LocalLoad;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.http.HttpServer;
import io.pipelane.server.http.HttpSettings;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.net.Transport;
import io.pipelane.server.observability.Tracings;
import io.pipelane.server.statistics.InferenceStatistics;
import java.lang.foreign.Arena;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** A server that forwards calls to another one as it is, and what that takes from it. */
class ForwardedToRealHostTest extends ForwardedCallsFixture {
  /** Another host as it is. */
  private static HttpServer realHost(FakeCatalog catalog, InferenceStatistics statistics) {
    return realHost(Backends.of(catalog, EchoService.inline(), statistics));
  }

  private static HttpServer realHost(Backend backend) {
    return HttpServer.start(
        new HttpSettings(
            "127.0.0.1",
            0,
            Transport.AUTO,
            1,
            GrpcConversation.LARGEST_MESSAGE,
            64,
            Duration.ofSeconds(30),
            Optional.empty()),
        backend,
        new TransferMemory(Arena.ofAuto().allocate(1 << 20)));
  }

  @Test
  void hostWhoseDevicesAreAllLost_isReplaced() {
    EchoService lost = EchoService.inline();
    lost.refusal = new StatusException(Status.DEVICE_FAILURE, "the GPU is lost");
    lost.usable = false;
    LocalLoad load = new LocalLoad(lost, _ -> 0, () -> 1);
    try (HttpServer other = realHost(Backends.of(FakeCatalog.usual(), load))) {
      URI url = URI.create(other.url());
      stallNanos = 1_000_000_000;
      registry.has(url, "echo", 2, false, Duration.ZERO);
      registry.has(second.url(), "echo", 2, false, Duration.ofMillis(5));
      second.then("200 OK", bytes(answer("two")), MESSAGE);
      assertEquals("two", infer(Inferences.raw("echo", 1, 2, 3, 4)).getId());
      assertEquals(1, counted(url, "refused"));
    }
  }

  @Test
  void hostWithoutMemoryToBegin_isReplaced_andOneThatMayHaveRunItIsNot() throws Exception {
    EchoService full = EchoService.holding();
    LocalLoad load = new LocalLoad(full, _ -> 0, () -> 1);
    try (HttpServer other = realHost(Backends.of(FakeCatalog.usual(), load))) {
      stallNanos = 1_000_000_000;
      registry.has(URI.create(other.url()), "echo", 2, false, Duration.ZERO);
      ModelInferRequest request = Inferences.raw("echo", 1, 2, 3, 4);
      Future<ModelInferResponse> run =
          GRPCInferenceServiceGrpc.newFutureStub(conversation.channel).modelInfer(request);
      while (full.pending.isEmpty()) {
        Thread.onSpinWait();
      }
      full.pending.getFirst().fail();
      ExecutionException failure = assertThrows(ExecutionException.class, run::get);
      assertEquals(Code.RESOURCE_EXHAUSTED, io.grpc.Status.fromThrowable(failure).getCode());
      full.refusal = new StatusException(Status.INSUFFICIENT_MEMORY, "there is less");
      assertEquals("echo", infer(request).getModelName());
    }
  }

  @Test
  void realHost_answersWithWhatThisOneWould() {
    ModelInferRequest typed =
        Inferences.typed(
            "pair", "INT64", InferTensorContents.newBuilder().addInt64Contents(5).build(), 1);
    typed = typed.toBuilder().setInputs(0, typed.getInputs(0).toBuilder().setName("a")).build();
    typed =
        typed.toBuilder()
            .addInputs(
                Inferences.input("b", "BYTES", 1)
                    .setContents(
                        InferTensorContents.newBuilder()
                            .addBytesContents(ByteString.copyFromUtf8("z"))))
            .addOutputs(InferRequestedOutputTensor.newBuilder().setName("y_b"))
            .setId("m\u00e9")
            .build();
    List<ModelInferRequest> requests =
        List.of(
            Inferences.raw("echo", 1, 2, 3, 4),
            Inferences.raw("echo", new float[1 << 18]),
            Inferences.raw("echo_BF16", "BF16", ByteString.copyFromUtf8("abcd"), 2),
            typed);
    List<ModelInferResponse> here = requests.stream().map(this::infer).toList();
    ModelInferRequest wrong = Inferences.raw("echo", "INT8", ByteString.EMPTY, 0, 4);
    StatusRuntimeException wrongHere = refused(wrong);
    stallNanos = 1_000_000_000;
    InferenceStatistics statistics = new InferenceStatistics();
    try (HttpServer other = realHost(FakeCatalog.usual(), statistics)) {
      URI url = URI.create(other.url());
      for (int i = 0; i < requests.size(); i++) {
        registry.has(url, requests.get(i).getModelName(), 2, false, Duration.ZERO);
        assertEquals(here.get(i), infer(requests.get(i)));
      }
      registry.has(url, "echo", 2, false, Duration.ZERO);
      StatusRuntimeException wrongThere = refused(wrong);
      assertEquals(wrongHere.getStatus().getCode(), wrongThere.getStatus().getCode());
      assertEquals(description(wrongHere), description(wrongThere));
      assertEquals(requests.size() + 1, counted(url, "answered"));
    }
  }

  /** Posts a body as a message; marked, as by another host, or not. */
  private static HttpResponse<String> post(HttpServer host, byte[] body, boolean marked)
      throws Exception {
    return post(host, "echo", body, marked);
  }

  private static HttpResponse<String> post(
      HttpServer host, String model, byte[] body, boolean marked) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(host.url() + "/v2/models/" + model + "/infer"))
            .header("Content-Type", MessageInferences.MEDIA_TYPE)
            .POST(BodyPublishers.ofByteArray(body));
    if (marked) {
      request.header("Pipelane-Forwarded", "a:80");
    }
    try (HttpClient client = HttpClient.newHttpClient()) {
      return client.send(request.build(), BodyHandlers.ofString());
    }
  }

  @Test
  void message_isTakenFromOtherHostsAlone_andMustBeOne() throws Exception {
    byte[] message = Inferences.raw("echo", 1, 2, 3, 4).toByteArray();
    try (HttpServer host = realHost(FakeCatalog.usual(), new InferenceStatistics())) {
      assertEquals(200, post(host, message, true).statusCode());
      HttpResponse<String> malformed = post(host, message, false);
      assertEquals(400, malformed.statusCode());
      assertTrue(malformed.body().contains("JSON"), malformed::body);
      for (int bytes : List.of(message.length - 1, CodecThreads.LARGEST_ON_LOOP + 1)) {
        HttpResponse<String> wrong = post(host, Arrays.copyOf(new byte[] {10}, bytes), true);
        assertEquals(400, wrong.statusCode());
        assertTrue(wrong.body().contains("ModelInferRequest"), wrong::body);
      }
    }
  }

  @Test
  void messageThatNamesAnotherModelThanItsPath_isRefused() throws Exception {
    ModelInferRequest message = Inferences.raw("echo", 1, 2, 3, 4);
    byte[] any = message.toByteArray();
    byte[] second = message.toBuilder().setModelVersion("2").build().toByteArray();
    try (HttpServer host = realHost(FakeCatalog.usual(), new InferenceStatistics())) {
      HttpResponse<String> other = post(host, "pair", any, true);
      assertEquals(400, other.statusCode());
      assertTrue(other.body().contains("echo") && other.body().contains("pair"), other::body);
      assertEquals(400, post(host, "echo/versions/2", any, true).statusCode());
      assertEquals(400, post(host, "echo/versions/1", second, true).statusCode());
      assertEquals(200, post(host, "echo/versions/2", second, true).statusCode());
      assertEquals(200, post(host, second, true).statusCode());
    }
  }

  @Test
  void realHost_tracesTheCallersTrace() {
    try (Tracings traces = new Tracings(1);
        HttpServer other = realHost(FakeCatalog.usual(), new InferenceStatistics(traces.tracing))) {
      stallNanos = 1_000_000_000;
      registry.has(URI.create(other.url()), "echo", 2, false, Duration.ZERO);
      String trace = "4bf92f3577b34da6a3ce929d0e0e4736";
      Metadata headers = new Metadata();
      headers.put(GrpcTracing.TRACEPARENT, "00-" + trace + "-00f067aa0ba902b7-01");
      AtomicReference<Metadata> answered = new AtomicReference<>();
      ModelInferResponse _ =
          conversation
              .client()
              .withInterceptors(
                  MetadataUtils.newAttachHeadersInterceptor(headers),
                  MetadataUtils.newCaptureMetadataInterceptor(answered, new AtomicReference<>()))
              .modelInfer(Inferences.raw("echo", 1, 2, 3, 4));
      assertEquals(
          "00-" + trace + "-" + traces.span("infer").getSpanId() + "-01",
          Objects.requireNonNull(answered.get()).get(GrpcTracing.TRACEPARENT));
    }
  }
}
