package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import io.grpc.Metadata;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.InferParameter;
import io.pipelane.protocol.grpc.InferTensorContents;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferRequestedOutputTensor;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.server.hosts.BareHost;
import io.pipelane.server.hosts.BareHost.Received;
import io.pipelane.server.hosts.FakeRegistry;
import io.pipelane.server.hosts.Hosts;
import io.pipelane.server.hosts.LocalLoad;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.http.FakeCatalog;
import io.pipelane.server.http.HttpServer;
import io.pipelane.server.http.HttpSettings;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.net.OutgoingTls;
import io.pipelane.server.net.Transport;
import io.pipelane.server.observability.Tracings;
import io.pipelane.server.statistics.InferenceStatistics;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A server that forwards calls to hosts which answer what the test says, and to a real one. */
@Timeout(60)
class ForwardedCallTest {
  private static final String MESSAGE = "Content-Type: application/x-protobuf";
  private static final Metadata.Key<String> API_KEY = text("x-api-key");

  private final FakeRegistry registry = new FakeRegistry();
  private final BareHost first = host();
  private final BareHost second = host();
  private final EchoService echo = EchoService.inline();
  private volatile long stallNanos;
  private Hosts hosts = registry.hosts();
  private GrpcConversation conversation = start();

  private static BareHost host() {
    try {
      return new BareHost();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private GrpcConversation start() {
    LocalLoad load = new LocalLoad(echo, _ -> stallNanos, () -> 1);
    GrpcConversation started =
        new GrpcConversation(catalog -> Backends.of(catalog, load), Optional.of(hosts));
    hosts.start(URI.create("http://127.0.0.1:1"), Transport.AUTO.resolve(), started.catalog, load);
    return started;
  }

  @AfterEach
  void end() {
    conversation.close();
    hosts.close();
    first.close();
    second.close();
  }

  private static Metadata.Key<String> text(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  /** Both hosts have a model that this one has not; the first one is asked first. */
  private void bothHave(String model, boolean keepsState) {
    registry.has(first.url(), model, 1, keepsState, Duration.ZERO);
    registry.has(second.url(), model, 1, keepsState, Duration.ofMillis(5));
  }

  private ModelInferResponse infer(ModelInferRequest request) {
    return conversation.client().modelInfer(request);
  }

  private static ModelInferRequest far() {
    return Inferences.raw("far", 1, 2, 3, 4);
  }

  private static ModelInferResponse answer(String id) {
    return ModelInferResponse.newBuilder().setModelName("far").setId(id).build();
  }

  private static String bytes(MessageLite message) {
    return new String(message.toByteArray(), StandardCharsets.ISO_8859_1);
  }

  private StatusRuntimeException refused(ModelInferRequest request) {
    return assertThrows(StatusRuntimeException.class, () -> infer(request));
  }

  private static String description(StatusRuntimeException refusal) {
    return String.valueOf(refusal.getStatus().getDescription());
  }

  private long counted(BareHost host, String outcome) {
    return counted(host.url(), outcome);
  }

  private long counted(URI host, String outcome) {
    return FakeRegistry.counted(hosts, host, outcome);
  }

  @Test
  void message_goesAsItCame_andTheAnswerComesBackAsItWas() throws Exception {
    bothHave("far away", false);
    ModelInferResponse answer = answer("elsewhere");
    first.then("200 OK", bytes(answer), MESSAGE, "Pipelane-Stall-Us: 1500", "traceparent: 00-3");
    Metadata headers = new Metadata();
    headers.put(text("authorization"), "Bearer secret");
    headers.put(API_KEY, "key");
    headers.put(text("pipelane-priority"), "offline");
    headers.put(GrpcTracing.TRACEPARENT, "00-1-2-00");
    headers.put(text("user-agent-of-mine"), "none");
    AtomicReference<Metadata> answered = new AtomicReference<>();
    ModelInferRequest request =
        Inferences.raw("far away", 1, 2, 3, 4).toBuilder().setId("7").build();
    assertEquals(
        answer,
        conversation
            .client()
            .withInterceptors(
                MetadataUtils.newAttachHeadersInterceptor(headers),
                MetadataUtils.newCaptureMetadataInterceptor(answered, new AtomicReference<>()))
            .modelInfer(request));
    Metadata said = Objects.requireNonNull(answered.get());
    assertEquals("1500", said.get(InferCallHandler.STALL_MICROS));
    assertEquals("00-3", said.get(GrpcTracing.TRACEPARENT));
    Received received = first.received.getFirst();
    assertEquals("POST /v2/models/far%20away/infer HTTP/1.1", received.line());
    assertEquals(
        request,
        ModelInferRequest.parseFrom(received.body().getBytes(StandardCharsets.ISO_8859_1)));
    assertEquals("application/x-protobuf", received.fields().get("content-type"));
    assertEquals("Bearer secret", received.fields().get("authorization"));
    assertEquals("key", received.fields().get("x-api-key"));
    assertEquals("offline", received.fields().get("pipelane-priority"));
    assertEquals("00-1-2-00", received.fields().get("traceparent"));
    assertEquals("127.0.0.1:1", received.fields().get("pipelane-forwarded"));
    assertNull(received.fields().get("user-agent-of-mine"));
    assertEquals(1, counted(first, "answered"));
  }

  @Test
  void largeMessages_goBothWays() throws Exception {
    bothHave("far", false);
    ByteString large = ByteString.copyFrom(new byte[1 << 22]);
    ModelInferResponse answer = answer("").toBuilder().addRawOutputContents(large).build();
    first.then("200 OK", bytes(answer), MESSAGE);
    assertEquals(answer, infer(Inferences.raw("far", "UINT8", large, large.size())));
    assertEquals(
        large,
        ModelInferRequest.parseFrom(
                first.received.getFirst().body().getBytes(StandardCharsets.ISO_8859_1))
            .getRawInputContents(0));
  }

  @ParameterizedTest
  @CsvSource({
    "400 Bad Request, INVALID_ARGUMENT",
    "413 T, RESOURCE_EXHAUSTED",
    "418 T, INTERNAL",
    "429 T, RESOURCE_EXHAUSTED",
    "499 C, CANCELLED",
    "500 I, INTERNAL",
    "501 N, UNIMPLEMENTED",
    "504 G, DEADLINE_EXCEEDED",
    "507 I, RESOURCE_EXHAUSTED"
  })
  void errors_arePassedOn(String status, Code code) {
    bothHave("far", false);
    first.then(status, "{\"error\":\"so \\\"said\\\"\"}", "Retry-After: 7");
    StatusRuntimeException refusal = refused(far());
    assertEquals(code, refusal.getStatus().getCode());
    assertEquals("so \"said\"", description(refusal));
    boolean later = status.startsWith("429");
    assertEquals(
        later ? "7000" : null,
        Objects.requireNonNull(refusal.getTrailers()).get(text("grpc-retry-pushback-ms")));
    assertEquals(0, second.received.size());
  }

  @ParameterizedTest
  @ValueSource(strings = {"no message", "{\"error\":1}", ""})
  void errorThatSaysNothing_isNamedByItsStatus(String body) {
    bothHave("far", false);
    first.then("400 Bad Request", body);
    assertTrue(description(refused(far())).contains("has answered 400"));
  }

  @Test
  void answerThatIsNoMessage_isAFault() {
    bothHave("far", false);
    first.then("200 OK", "{}", "Content-Type: application/json").then("200 OK", "\1\2\3", MESSAGE);
    for (int i = 0; i < 2; i++) {
      StatusRuntimeException refusal = refused(far());
      assertEquals(Code.INTERNAL, refusal.getStatus().getCode());
      assertTrue(description(refusal).contains("another host"), description(refusal));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "503 Service Unavailable, UNAVAILABLE",
    "404 Not Found, NOT_FOUND",
    "401 U, UNAUTHENTICATED",
    "403 F, PERMISSION_DENIED"
  })
  void refusal_isTakenToAnotherHost_andPassedOnWhenNobodyDoesBetter(String status, Code code) {
    bothHave("far", false);
    first.then(status, "{\"error\":\"one\"}");
    second.then("200 OK", bytes(answer("two")), MESSAGE);
    assertEquals("two", infer(far()).getId());
    first.then(status, "{\"error\":\"one\"}");
    second.then(status, "{\"error\":\"three\"}", "Retry-After: 3");
    StatusRuntimeException refusal = refused(far());
    assertEquals("three", description(refusal));
    assertEquals(code, refusal.getStatus().getCode());
    assertEquals(2, counted(first, "refused"));
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
  void answerThatBreaksOffAnywhere_comesFromAnotherHost() throws Exception {
    String text = BareHost.text("200 OK", bytes(answer("half")), MESSAGE);
    for (int end = 0; end < text.length(); end += 7) {
      try (BareHost breaking = new BareHost()) {
        registry.has(breaking.url(), "far", 1, false, Duration.ZERO);
        registry.has(second.url(), "far", 1, false, Duration.ofMillis(5));
        breaking.then(BareHost.breakingOff(text, end));
        second.then("200 OK", bytes(answer("whole")), MESSAGE);
        assertEquals("whole", infer(far()).getId());
        assertEquals(1, counted(breaking, "lost"));
        registry.gone(breaking.url());
      }
    }
  }

  @Test
  void modelThatIsHere_isAskedElsewhereWhileThatIsSooner_andAnsweredHereOtherwise() {
    registry.has(first.url(), "echo", 2, false, Duration.ZERO);
    ModelInferRequest request = Inferences.raw("echo", 1, 2, 3, 4);
    ModelInferResponse here = infer(request);
    assertEquals(request.getRawInputContents(0), here.getRawOutputContents(0));
    stallNanos = 1_000_000_000;
    first.then("200 OK", bytes(answer("there")), MESSAGE).then("503 Service Unavailable", "{}");
    assertEquals("there", infer(request).getId());
    assertEquals(here, infer(request), "answered here after all");
    first.close();
    assertEquals(here, infer(request));
    assertEquals(here, infer(request));
    assertEquals(2, first.received.size());
    assertEquals(1, hosts.counts().suspect());
  }

  @Test
  void versionThatIsChosenHere_isWhatOthersAreAskedFor() throws Exception {
    stallNanos = 1_000_000_000;
    conversation.catalog.label("echo", "good", 1);
    registry.has(first.url(), "echo", 1, false, Duration.ZERO);
    registry.has(second.url(), "echo", 2, false, Duration.ZERO);
    first.then("200 OK", bytes(answer("labelled")), MESSAGE);
    second.then("200 OK", bytes(answer("default")), MESSAGE);
    ModelInferRequest unnamed = Inferences.raw("echo", 1, 2, 3, 4);
    ModelInferRequest labelled = unnamed.toBuilder().setModelVersion("good").build();
    assertEquals("labelled", infer(labelled).getId());
    assertEquals("default", infer(unnamed).getId());
    assertEquals(List.of("1"), versions(first));
    assertEquals(List.of("2"), versions(second));
  }

  private static List<String> versions(BareHost host) throws Exception {
    List<String> versions = new ArrayList<>();
    for (Received received : host.received) {
      byte[] body = received.body().getBytes(StandardCharsets.ISO_8859_1);
      versions.add(ModelInferRequest.parseFrom(body).getModelVersion());
    }
    return versions;
  }

  @Test
  void nobodyWhoCouldAnswer_isUnavailable() {
    bothHave("far", false);
    first.close();
    second.close();
    StatusRuntimeException refusal = refused(far());
    assertEquals(Code.UNAVAILABLE, refusal.getStatus().getCode());
    assertEquals(
        "1000", Objects.requireNonNull(refusal.getTrailers()).get(text("grpc-retry-pushback-ms")));
  }

  @Test
  void stepOfASequence_isNotSentTwice() {
    bothHave("far", true);
    first.then(BareHost.breakingOff("", 0));
    second.then(BareHost.breakingOff("", 0));
    assertTrue(description(refused(far())).contains("begin the sequence anew"));
    assertEquals(1, first.received.size() + second.received.size());
  }

  @Test
  void hostThatIsTooSlow_isNotAskedTwice() throws Exception {
    conversation.close();
    hosts.close();
    hosts =
        registry.hosts(
            Duration.ofMillis(500), OutgoingTls.open(Optional.empty(), Optional.empty()).http());
    conversation = start();
    bothHave("far", false);
    CountDownLatch closed = new CountDownLatch(1);
    first.then(BareHost.silent(new CountDownLatch(1), closed));
    StatusRuntimeException refusal = refused(far());
    assertEquals(Code.UNAVAILABLE, refusal.getStatus().getCode());
    assertTrue(description(refusal).contains("has not answered in time"), description(refusal));
    closed.await();
    assertEquals(0, second.received.size());
  }

  @Test
  void clientThatGoes_hasItsCallGivenUpElsewhere() throws Exception {
    bothHave("far", false);
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch closed = new CountDownLatch(1);
    first.then(BareHost.silent(asked, closed));
    Future<ModelInferResponse> call =
        GRPCInferenceServiceGrpc.newFutureStub(conversation.channel).modelInfer(far());
    asked.await();
    call.cancel(true);
    closed.await();
    assertEquals(1, counted(first, "cancelled"));
    assertEquals(0, second.received.size());
  }

  @Test
  void markedCall_andOneThatNamesSharedMemory_stayHere() {
    bothHave("far", false);
    Metadata mark = new Metadata();
    mark.put(text("pipelane-forwarded"), "a:80");
    assertEquals(
        Code.NOT_FOUND,
        assertThrows(
                StatusRuntimeException.class,
                () ->
                    conversation
                        .client()
                        .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(mark))
                        .modelInfer(far()))
            .getStatus()
            .getCode());
    InferParameter region = InferParameter.newBuilder().setStringParam("r").build();
    InferRequestedOutputTensor.Builder output =
        InferRequestedOutputTensor.newBuilder()
            .setName("y_x")
            .putParameters("shared_memory_region", region);
    ModelInferRequest.Builder input = far().toBuilder();
    input.getInputsBuilder(0).putParameters("shared_memory_region", region);
    for (ModelInferRequest request :
        List.of(far().toBuilder().addOutputs(output).build(), input.build())) {
      assertEquals(Code.NOT_FOUND, refused(request).getStatus().getCode());
    }
    assertEquals(0, first.received.size());
  }

  @Test
  void messageLargerThanHostsTake_isAnsweredHere_orRefused() {
    stallNanos = 1_000_000_000;
    float[] values = new float[GrpcConversation.LARGEST_MESSAGE / 4];
    registry.has(first.url(), "echo", 2, false, Duration.ZERO);
    assertEquals(2, infer(Inferences.raw("echo", values)).getOutputs(0).getShapeCount());
    registry.has(first.url(), "far", 2, false, Duration.ZERO);
    StatusRuntimeException refusal = refused(Inferences.raw("far", values));
    assertEquals(Code.RESOURCE_EXHAUSTED, refusal.getStatus().getCode());
    assertTrue(description(refusal).contains("server.max-request-size"), description(refusal));
    assertEquals(0, first.received.size());
  }

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
