package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.Metadata;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import io.pipelane.protocol.grpc.InferParameter;
import io.pipelane.protocol.grpc.ModelConfigRequest;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferRequestedOutputTensor;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.protocol.grpc.ModelMetadataRequest;
import io.pipelane.protocol.grpc.ModelMetadataResponse;
import io.pipelane.protocol.grpc.ModelReadyRequest;
import io.pipelane.server.hosts.BareHost;
import io.pipelane.server.hosts.BareHost.Received;
import io.pipelane.server.net.OutgoingTls;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A server that forwards calls to hosts which answer what the test says. */
class ForwardedCallTest extends ForwardedCallsFixture {
  private static final Metadata.Key<String> API_KEY = text("x-api-key");

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

  /** As HTTP answers them, so that a client that asks before it infers does not give up. */
  @Test
  void questionsAboutAModelOfOthers_areTheirs() {
    bothHave("far", false);
    first
        .then("200 OK", "{\"name\":\"far\",\"ready\":true}")
        .then(
            "200 OK",
            "{\"name\":\"far\",\"versions\":[\"1\"],\"platform\":\"p\",\"later\":1,\"outputs\":[],"
                + "\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[-1,4]}]}")
        .then("200 OK", "{\"name\":\"far\",\"max_batch_size\":8}");
    GRPCInferenceServiceBlockingStub client = conversation.client("key");
    ModelReadyRequest ready = ModelReadyRequest.newBuilder().setName("far").build();
    assertTrue(client.modelReady(ready).getReady());
    ModelMetadataResponse metadata =
        client.modelMetadata(
            ModelMetadataRequest.newBuilder().setName("far").setVersion("1").build());
    assertEquals(List.of(-1L, 4L), metadata.getInputs(0).getShapeList());
    ModelConfigRequest config = ModelConfigRequest.newBuilder().setName("far").build();
    assertEquals(8, client.modelConfig(config).getConfig().getMaxBatchSize());
    assertEquals(
        List.of(
            "GET /v2/models/far/ready HTTP/1.1",
            "GET /v2/models/far/versions/1 HTTP/1.1",
            "GET /v2/models/far/config HTTP/1.1"),
        first.received.stream().map(BareHost.Received::line).toList());
    assertEquals("Bearer key", first.received.getFirst().fields().get("authorization"));
  }

  @Test
  void questionsThatNobodyAnswers_areRefusedAsHttpRefusesThem() {
    bothHave("far", false);
    for (int i = 0; i < 2; i++) {
      first.then("404 Not Found", "{\"error\":\"one\"}");
      second.then("404 Not Found", "{\"error\":\"two\"}");
    }
    ModelReadyRequest ready = ModelReadyRequest.newBuilder().setName("far").build();
    assertFalse(conversation.client().modelReady(ready).getReady());
    ModelMetadataRequest metadata = ModelMetadataRequest.newBuilder().setName("far").build();
    StatusRuntimeException refusal =
        assertThrows(
            StatusRuntimeException.class, () -> conversation.client().modelMetadata(metadata));
    assertEquals(Code.NOT_FOUND, refusal.getStatus().getCode());
    ModelReadyRequest unknown = ModelReadyRequest.newBuilder().setName("nobodys").build();
    assertFalse(conversation.client().modelReady(unknown).getReady());
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
  void hostThatDoesNotAnswerInTime_isGivenUp_andNobodyElseIsAsked() throws Exception {
    bothHave("far", false);
    CountDownLatch closed = new CountDownLatch(1);
    first.then(BareHost.silent(new CountDownLatch(1), closed));
    InferParameter timeout = InferParameter.newBuilder().setInt64Param(500_000).build();
    ModelInferRequest timed = far().toBuilder().putParameters("timeout", timeout).build();
    StatusRuntimeException refusal = refused(timed);
    assertEquals(Code.UNAVAILABLE, refusal.getStatus().getCode());
    assertTrue(description(refusal).contains("within the request's timeout"), description(refusal));
    closed.await();
    assertEquals(1, counted(first, "overdue"));
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
}
