package io.pipelane.server.grpc;

import static io.pipelane.server.grpc.Inferences.raw;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.Metadata;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.InferParameter;
import io.pipelane.protocol.grpc.InferTensorContents;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelInferRequest.InferRequestedOutputTensor;
import io.pipelane.protocol.grpc.ModelInferResponse;
import io.pipelane.protocol.grpc.ModelStatistics;
import io.pipelane.protocol.grpc.ModelStatisticsRequest;
import io.pipelane.protocol.grpc.SystemSharedMemoryRegisterRequest;
import io.pipelane.protocol.grpc.SystemSharedMemoryStatusRequest;
import io.pipelane.protocol.grpc.SystemSharedMemoryUnregisterRequest;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.net.Backends;
import io.pipelane.server.shared.RegionPart;
import io.pipelane.server.shared.SharedMemory;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.server.statistics.ModelCounters.Failure;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Single inferences over a real connection. */
@Timeout(60)
@TestInstance(Lifecycle.PER_CLASS)
class GrpcInferTest {
  private final EchoService service = EchoService.inline();
  private GrpcConversation conversation;

  @BeforeAll
  void start() {
    conversation = new GrpcConversation(service);
  }

  @AfterAll
  void stop() throws Exception {
    conversation.close();
    assertEquals(0, conversation.transferMemory.lentBytes());
  }

  private ModelInferResponse infer(ModelInferRequest request) {
    return conversation.client().modelInfer(request);
  }

  private StatusRuntimeException refusal(ModelInferRequest request) {
    return assertThrows(StatusRuntimeException.class, () -> infer(request));
  }

  static Stream<Arguments> typedContents() {
    return Stream.of(
        typed("BOOL", c -> c.addBoolContents(true).addBoolContents(false)),
        typed("INT8", c -> c.addIntContents(-128).addIntContents(127)),
        typed("INT16", c -> c.addIntContents(-32768).addIntContents(32767)),
        typed("INT32", c -> c.addIntContents(Integer.MIN_VALUE).addIntContents(7)),
        typed("INT64", c -> c.addInt64Contents(9007199254740993L).addInt64Contents(-1)),
        typed("UINT8", c -> c.addUintContents(255).addUintContents(0)),
        typed("UINT16", c -> c.addUintContents(65535).addUintContents(0)),
        typed("UINT32", c -> c.addUintContents(-1).addUintContents(1)),
        typed("UINT64", c -> c.addUint64Contents(-1L).addUint64Contents(1)),
        typed("FP32", c -> c.addFp32Contents(1.5f).addFp32Contents(Float.NEGATIVE_INFINITY)),
        typed("FP64", c -> c.addFp64Contents(0.1).addFp64Contents(-2)),
        typed(
            "BYTES",
            c ->
                c.addBytesContents(ByteString.copyFromUtf8("b\u00e9"))
                    .addBytesContents(ByteString.EMPTY)));
  }

  private static Arguments typed(String type, UnaryOperator<InferTensorContents.Builder> fill) {
    return Arguments.of(type, fill.apply(InferTensorContents.newBuilder()).build());
  }

  @ParameterizedTest
  @MethodSource("typedContents")
  void typedContents_areAnsweredInKind(String type, InferTensorContents contents) {
    ModelInferResponse answer = infer(Inferences.typed("echo_" + type, type, contents, 2));
    assertEquals(contents, answer.getOutputs(0).getContents());
    assertEquals("y_x", answer.getOutputs(0).getName());
    assertEquals(type, answer.getOutputs(0).getDatatype());
    assertEquals(2, answer.getOutputs(0).getShape(0));
    assertEquals(0, answer.getRawOutputContentsCount());
  }

  @ParameterizedTest
  @CsvSource({"FP16, 4", "BF16, 4", "INT8, 2", "FP64, 16", "BOOL, 2"})
  void rawContents_areAnsweredInKind(String type, int bytes) {
    ByteString data = ByteString.copyFrom(new byte[bytes]);
    ModelInferResponse answer = infer(raw("echo_" + type, type, data, 2));
    assertEquals(data, answer.getRawOutputContents(0));
    assertFalse(answer.getOutputs(0).hasContents());
  }

  @Test
  void versionThatLeavesAsItIsAsked_isFollowedByTheNext() {
    InferenceStatistics statistics = new InferenceStatistics();
    try (GrpcConversation moving =
        new GrpcConversation(
            catalog -> Backends.of(catalog, EchoService.without(catalog, 2), statistics))) {
      ModelInferResponse answer = moving.client().modelInfer(raw("echo", 1, 2, 3, 4));
      assertEquals("1", answer.getModelVersion());
    }
    ModelCounters left = statistics.of(new ModelVersion("echo", 2));
    assertEquals(0, left.failure().count());
    assertEquals(0, left.pending());
    assertEquals(1, statistics.of(new ModelVersion("echo", 1)).success().count());
  }

  @Test
  void callWhoseClientHasGone_countsAsCanceled() {
    InferenceStatistics statistics = new InferenceStatistics();
    EchoService holding = EchoService.holding();
    try (GrpcConversation leaving =
        new GrpcConversation(catalog -> Backends.of(catalog, holding, statistics))) {
      Future<ModelInferResponse> answer =
          GRPCInferenceServiceGrpc.newFutureStub(leaving.channel)
              .modelInfer(raw("echo", 1, 2, 3, 4));
      while (holding.pending.isEmpty()) {
        Thread.onSpinWait();
      }
      answer.cancel(true);
      while (!holding.pending.getFirst().isCancelled()) {
        Thread.onSpinWait();
      }
      holding.pending.getFirst().complete(); // It was too late to stop it.
      ModelCounters counters = statistics.of(new ModelVersion("echo", 2));
      while (counters.pending() > 0) {
        Thread.onSpinWait();
      }
      assertEquals(1, counters.failures(Failure.CANCELED));
      assertEquals(0, counters.success().count());
      assertEquals(1, counters.executions());
    }
  }

  @Test
  void statistics_countRows() {
    InferenceStatistics statistics = new InferenceStatistics();
    try (GrpcConversation counted =
        new GrpcConversation(catalog -> Backends.of(catalog, EchoService.inline(), statistics))) {
      ModelInferResponse _ = counted.client().modelInfer(raw("echo", new float[12]));
      ModelStatistics echo =
          counted
              .client()
              .modelStatistics(ModelStatisticsRequest.newBuilder().setName("echo").build())
              .getModelStats(0);
      assertEquals(3, echo.getInferenceCount());
      assertEquals(1, echo.getExecutionCount());
      assertEquals(3, echo.getBatchStats(0).getBatchSize());
    }
  }

  @Test
  void largeRawContents_comeBackWhole() {
    float[] values = new float[1 << 20];
    for (int i = 0; i < values.length; i++) {
      values[i] = i;
    }
    ModelInferRequest request = raw("echo", values);
    assertEquals(request.getRawInputContents(0), infer(request).getRawOutputContents(0));
  }

  @Test
  void answer_repeatsIdAndNamesModelAndVersion() {
    ModelInferResponse answer = infer(raw("echo", 1, 2, 3, 4).toBuilder().setId("m\u00e9").build());
    assertEquals("m\u00e9", answer.getId());
    assertEquals("echo", answer.getModelName());
    assertEquals("2", answer.getModelVersion());
  }

  @Test
  void answer_saysHowLongWeightsWereWaitedFor() {
    AtomicReference<Metadata> headers = new AtomicReference<>();
    AtomicReference<Metadata> trailers = new AtomicReference<>();
    ModelInferResponse answer =
        conversation
            .client()
            .withInterceptors(MetadataUtils.newCaptureMetadataInterceptor(headers, trailers))
            .modelInfer(raw("echo", 1, 2, 3, 4));
    assertEquals(1, answer.getOutputsCount());
    assertEquals("1", headers.get().get(InferCallHandler.STALL_MICROS));
  }

  @Test
  void outputs_comeInTheOrderWanted() {
    ModelInferRequest.Builder request =
        ModelInferRequest.newBuilder()
            .setModelName("pair")
            .addInputs(
                Inferences.input("b", "BYTES", 1)
                    .setContents(
                        InferTensorContents.newBuilder()
                            .addBytesContents(ByteString.copyFromUtf8("z"))))
            .addInputs(
                Inferences.input("a", "INT64", 1)
                    .setContents(InferTensorContents.newBuilder().addInt64Contents(5)));
    assertEquals(2, infer(request.build()).getOutputsCount());
    request
        .addOutputs(InferRequestedOutputTensor.newBuilder().setName("y_b"))
        .addOutputs(InferRequestedOutputTensor.newBuilder().setName("y_a"));
    ModelInferResponse answer = infer(request.build());
    assertEquals("z", answer.getOutputs(0).getContents().getBytesContents(0).toStringUtf8());
    assertEquals(5, answer.getOutputs(1).getContents().getInt64Contents(0));
  }

  @Test
  void contentsBesideRawContents_areRefused() {
    ModelInferRequest both =
        raw("echo", 1, 2, 3, 4).toBuilder()
            .setInputs(
                0,
                Inferences.input("x", "FP32", 1, 4)
                    .setContents(InferTensorContents.newBuilder().addFp32Contents(1)))
            .build();
    assertRefused(both, "both contents and raw_input_contents");
  }

  @Test
  void wrongMessages_areInvalidArguments() {
    ByteString four = ByteString.copyFrom(new byte[4]);
    InferTensorContents two = InferTensorContents.newBuilder().addIntContents(200).build();
    assertRefused(raw("echo", "FP32", four, 1, 4), "raw contents is 4");
    assertRefused(raw("echo", "FP32", four, 1, -4), "must not be negative");
    assertRefused(raw("echo", "FP32", four, 1), "rank");
    assertRefused(raw("echo", "INT32", four, 1, 4), "declares FP32");
    assertRefused(raw("echo", "float", four, 1, 4), "input \"x\": datatype \"float\" is unknown");
    InferTensorContents mixed =
        InferTensorContents.newBuilder().addIntContents(1).addInt64Contents(1).build();
    assertRefused(Inferences.typed("echo_INT32", "INT32", mixed, 1), "contents of another type");
    assertRefused(raw("echo_BYTES", "BYTES", ByteString.copyFromUtf8("\7\0\0\0"), 1), "7 bytes");
    assertRefused(Inferences.typed("echo_INT8", "INT8", two, 1), "element 0 is 200");
    assertRefused(Inferences.typed("echo_FP16", "FP16", two, 1), "raw_input_contents");
    assertRefused(Inferences.typed("echo", "FP32", two, 1, 4), "0 elements");
    assertRefused(ModelInferRequest.newBuilder().setModelName("echo").build(), "is missing");
    assertRefused(
        raw("echo", 1, 2, 3, 4).toBuilder()
            .putParameters("timeout", InferParameter.newBuilder().setInt64Param(-1).build())
            .build(),
        "timeout");
    assertRefused(
        raw("echo", 1, 2, 3, 4).toBuilder()
            .putParameters(
                "timeout", InferParameter.newBuilder().setUint64Param(Long.MAX_VALUE).build())
            .build(),
        "within 0 to 86400000000, not 9223372036854775807");
    assertRefused(
        raw("echo", 1, 2, 3, 4).toBuilder()
            .putParameters("sequence_start", InferParameter.newBuilder().setInt64Param(1).build())
            .putParameters("sequence_id", InferParameter.newBuilder().setInt64Param(1).build())
            .build(),
        "must be true or false, not 1");
    assertRefused(
        raw("echo", 1, 2, 3, 4).toBuilder()
            .putParameters("priority", InferParameter.newBuilder().setStringParam("low").build())
            .build(),
        "allowed are online, offline");
    assertRefused(
        raw("echo", 1, 2, 3, 4).toBuilder().addRawInputContents(four).build(), "2 raw_input");
  }

  @Test
  void contentsBesideSharedMemory_areRefused() {
    ModelInferRequest both =
        ModelInferRequest.newBuilder()
            .setModelName("echo")
            .addInputs(
                Inferences.input("x", "FP32", 1, 4)
                    .setContents(InferTensorContents.newBuilder().addFp32Contents(1))
                    .putAllParameters(RegionParameters.of(new RegionPart("r", 0, 16), 16)))
            .build();
    assertRefused(both, "both contents and a shared_memory_region");
  }

  /** As over HTTP: what is said of a region that is not named, or where no tensor is. */
  @Test
  void halfOfAPlaceInSharedMemory_isRefused() {
    InferParameter size = InferParameter.newBuilder().setInt64Param(16).build();
    ModelInferRequest request = raw("echo", 1, 2, 3, 4);
    ModelInferRequest.Builder ofInput = request.toBuilder();
    ofInput.getInputsBuilder(0).putParameters("shared_memory_byte_size", size);
    assertRefused(ofInput.build(), "needs both shared_memory_region and");
    ModelInferRequest.Builder ofOutput = request.toBuilder();
    ofOutput.addOutputsBuilder().setName("y_x").putParameters("shared_memory_byte_size", size);
    assertRefused(ofOutput.build(), "needs both shared_memory_region and");
    assertRefused(
        request.toBuilder().putParameters("shared_memory_offset", size).build(),
        "belongs to an input or an output");
  }

  @ParameterizedTest
  @ValueSource(strings = {"sequence_start", "sequence_end"})
  void stepOfASequence_isSaidByABool(String name) {
    assertRefused(
        raw("echo", 1, 2, 3, 4).toBuilder()
            .putParameters(name, InferParameter.newBuilder().setStringParam("true").build())
            .build(),
        "\"%s\" must be true or false".formatted(name));
  }

  private void assertRefused(ModelInferRequest request, String reason) {
    StatusRuntimeException refusal = refusal(request);
    assertEquals(Code.INVALID_ARGUMENT, refusal.getStatus().getCode(), refusal.getMessage());
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains(reason), message);
  }

  @Test
  void errors_haveTheirCodes() {
    assertEquals(Code.NOT_FOUND, refusal(raw("nobody", 1)).getStatus().getCode());
    assertEquals(Code.INTERNAL, refusal(raw("faulty", 1)).getStatus().getCode());
    StatusRuntimeException importing = refusal(raw("importing", 1));
    assertEquals(Code.UNAVAILABLE, importing.getStatus().getCode());
    Metadata.Key<String> pushback =
        Metadata.Key.of("grpc-retry-pushback-ms", Metadata.ASCII_STRING_MARSHALLER);
    assertEquals("1500", Objects.requireNonNull(importing.getTrailers()).get(pushback));
    service.refusal = new StatusException(Status.DEADLINE_EXCEEDED, "too late");
    assertEquals(Code.DEADLINE_EXCEEDED, refusal(raw("echo", 1, 2, 3, 4)).getStatus().getCode());
    service.refusal = null;
  }

  @Test
  void tooLargeMessages_areRefusedAndTheConnectionGoesOn() {
    int bytes = GrpcConversation.LARGEST_MESSAGE + (2 << 20);
    ByteString large = ByteString.copyFrom(new byte[bytes]);
    StatusRuntimeException refusal = refusal(raw("echo", "FP32", large, bytes / 16, 4));
    assertEquals(Code.RESOURCE_EXHAUSTED, refusal.getStatus().getCode());
    assertEquals(
        Code.RESOURCE_EXHAUSTED, refusal(raw("limited", new float[64])).getStatus().getCode());
    assertEquals(1, infer(raw("echo", 1, 2, 3, 4)).getOutputsCount());
  }

  @Test
  void tensorsInSharedMemory_areReadAndWrittenThere(@TempDir Path folder) throws Exception {
    byte[] values = raw("echo", 1, 2, 3, 4).getRawInputContents(0).toByteArray();
    Path file = Files.write(folder.resolve("tensors"), Arrays.copyOf(values, 64));
    try (SharedMemory memory = SharedMemory.in(folder, 1024);
        GrpcConversation sharing =
            new GrpcConversation(catalog -> Backends.sharing(catalog, service, memory))) {
      SystemSharedMemoryRegisterRequest region =
          SystemSharedMemoryRegisterRequest.newBuilder()
              .setName("r")
              .setKey("/tensors")
              .setByteSize(64)
              .build();
      var _ = sharing.client().systemSharedMemoryRegister(region);
      assertEquals(
          64,
          sharing
              .client()
              .systemSharedMemoryStatus(SystemSharedMemoryStatusRequest.getDefaultInstance())
              .getRegionsOrThrow("r")
              .getByteSize());
      ModelInferRequest request =
          ModelInferRequest.newBuilder()
              .setModelName("echo")
              .addInputs(
                  Inferences.input("x", "FP32", 1, 4)
                      .putAllParameters(RegionParameters.of(new RegionPart("r", 0, 16), 16)))
              .addOutputs(
                  InferRequestedOutputTensor.newBuilder()
                      .setName("y_x")
                      .putAllParameters(RegionParameters.of(new RegionPart("r", 32, 16), 16)))
              .build();
      ModelInferResponse answer = sharing.client().modelInfer(request);
      assertEquals(0, answer.getRawOutputContentsCount());
      assertEquals(
          "r", answer.getOutputs(0).getParametersOrThrow("shared_memory_region").getStringParam());
      byte[] written = Files.readAllBytes(file);
      assertArrayEquals(values, Arrays.copyOfRange(written, 32, 48));
      Files.write(file, new byte[8]);
      assertEquals(
          Code.INVALID_ARGUMENT,
          assertThrows(StatusRuntimeException.class, () -> sharing.client().modelInfer(request))
              .getStatus()
              .getCode());
      var _ =
          sharing
              .client()
              .systemSharedMemoryUnregister(
                  SystemSharedMemoryUnregisterRequest.newBuilder().setName("r").build());
    }
  }

  @Test
  void sharedMemory_isNotServed() {
    ModelInferRequest request =
        raw("echo", 1, 2, 3, 4).toBuilder()
            .addOutputs(
                InferRequestedOutputTensor.newBuilder()
                    .setName("y_x")
                    .putAllParameters(RegionParameters.of(new RegionPart("r", 0, 16), 16)))
            .build();
    assertEquals(Code.UNIMPLEMENTED, refusal(request).getStatus().getCode());
  }
}
