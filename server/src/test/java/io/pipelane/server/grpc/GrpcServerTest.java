package io.pipelane.server.grpc;

import static io.pipelane.server.grpc.Inferences.raw;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.stub.StreamObserver;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.protocol.grpc.CudaSharedMemoryStatusRequest;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.LogSettingsRequest;
import io.pipelane.protocol.grpc.LogSettingsResponse;
import io.pipelane.protocol.grpc.ModelConfig;
import io.pipelane.protocol.grpc.ModelConfigRequest;
import io.pipelane.protocol.grpc.ModelMetadataRequest;
import io.pipelane.protocol.grpc.ModelMetadataResponse;
import io.pipelane.protocol.grpc.ModelReadyRequest;
import io.pipelane.protocol.grpc.ModelRepositoryParameter;
import io.pipelane.protocol.grpc.ModelStatistics;
import io.pipelane.protocol.grpc.ModelStatisticsRequest;
import io.pipelane.protocol.grpc.RepositoryIndexRequest;
import io.pipelane.protocol.grpc.RepositoryModelLoadRequest;
import io.pipelane.protocol.grpc.RepositoryModelUnloadRequest;
import io.pipelane.protocol.grpc.ServerLiveRequest;
import io.pipelane.protocol.grpc.ServerMetadataRequest;
import io.pipelane.protocol.grpc.ServerReadyRequest;
import io.pipelane.protocol.grpc.TraceSettingRequest;
import io.pipelane.protocol.grpc.TraceSettingResponse;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.net.Backends;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.switcher.InferenceService;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The front end over gRPC: health, settings, the repository, statistics, reflection. */
@Timeout(60)
class GrpcServerTest extends GrpcServerFixture {
  @Test
  void traceAndLogSettings_areSetAndTold() throws Exception {
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      var client = conversation.client();
      TraceSettingRequest all = TraceSettingRequest.getDefaultInstance();
      assertEquals("1000", traced(client.traceSetting(all), "trace_rate"));
      TraceSettingRequest one =
          TraceSettingRequest.newBuilder()
              .setModelName("echo")
              .putSettings("trace_rate", texts("7"))
              .putSettings("trace_level", texts("TIMESTAMPS"))
              .build();
      assertEquals("7", traced(client.traceSetting(one), "trace_rate"));
      assertEquals("1000", traced(client.traceSetting(all), "trace_rate"));
      TraceSettingRequest clear =
          one.toBuilder().clearSettings().putSettings("trace_rate", texts()).build();
      assertEquals("1000", traced(client.traceSetting(clear), "trace_rate"));
      assertEquals("TIMESTAMPS", traced(client.traceSetting(clear), "trace_level"));
      TraceSettingRequest absent = one.toBuilder().setModelName("absent").build();
      assertEquals(Code.NOT_FOUND, code(() -> client.traceSetting(absent)));

      LogSettingsRequest.SettingValue verbose =
          LogSettingsRequest.SettingValue.newBuilder().setUint32Param(2).build();
      LogSettingsResponse log =
          client.logSettings(
              LogSettingsRequest.newBuilder().putSettings("log_verbose_level", verbose).build());
      assertEquals(2, log.getSettingsOrThrow("log_verbose_level").getUint32Param());
      assertTrue(log.getSettingsOrThrow("log_info").getBoolParam());
      LogSettingsRequest wrong =
          LogSettingsRequest.newBuilder().putSettings("log_info", verbose).build();
      assertEquals(Code.INVALID_ARGUMENT, code(() -> client.logSettings(wrong)));
    }
  }

  private static TraceSettingRequest.SettingValue texts(String... values) {
    return TraceSettingRequest.SettingValue.newBuilder().addAllValue(List.of(values)).build();
  }

  private static String traced(TraceSettingResponse answer, String name) {
    return answer.getSettingsOrThrow(name).getValue(0);
  }

  @Test
  void healthAndMetadata_areAnswered() throws Exception {
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      var client = conversation.client();
      assertTrue(client.serverLive(ServerLiveRequest.getDefaultInstance()).getLive());
      assertTrue(client.serverReady(ServerReadyRequest.getDefaultInstance()).getReady());
      conversation.catalog.ready = false;
      assertFalse(client.serverReady(ServerReadyRequest.getDefaultInstance()).getReady());
      ModelReadyRequest ready = ModelReadyRequest.newBuilder().setName("echo").build();
      assertTrue(client.modelReady(ready).getReady());
      assertFalse(client.modelReady(ready.toBuilder().setVersion("7").build()).getReady());
      assertFalse(client.modelReady(ready.toBuilder().setName("nobody").build()).getReady());
      assertEquals(
          "pipelane", client.serverMetadata(ServerMetadataRequest.getDefaultInstance()).getName());
      ModelMetadataResponse metadata =
          client.modelMetadata(ModelMetadataRequest.newBuilder().setName("echo").build());
      assertEquals(List.of("1", "2"), metadata.getVersionsList());
      assertEquals("FP32", metadata.getInputs(0).getDatatype());
      assertEquals(List.of(-1L, 4L), metadata.getInputs(0).getShapeList());
      ModelConfig config =
          client.modelConfig(ModelConfigRequest.newBuilder().setName("echo").build()).getConfig();
      assertEquals("onnxruntime_onnx", config.getPlatform());
      assertEquals(List.of(-1L, 4L), config.getInput(0).getDimsList());
      assertEquals(
          Code.UNIMPLEMENTED,
          code(
              () ->
                  client.cudaSharedMemoryStatus(
                      CudaSharedMemoryStatusRequest.getDefaultInstance())));
    }
  }

  /** As a probe asks, for the server and for its service. */
  @Test
  void health_followsReadiness() throws Exception {
    EchoService service = EchoService.inline();
    try (GrpcConversation conversation = new GrpcConversation(service)) {
      conversation.catalog.ready = false;
      assertHealth(ServingStatus.NOT_SERVING, conversation);
      conversation.catalog.ready = true;
      assertHealth(ServingStatus.SERVING, conversation);
      Iterator<HealthCheckResponse> watched =
          HealthGrpc.newBlockingStub(conversation.channel)
              .watch(HealthCheckRequest.getDefaultInstance());
      assertEquals(ServingStatus.SERVING, watched.next().getStatus());
      service.usable = false;
      assertEquals(ServingStatus.NOT_SERVING, watched.next().getStatus());
      assertHealth(ServingStatus.NOT_SERVING, conversation);
      service.usable = true;
      assertEquals(ServingStatus.SERVING, watched.next().getStatus());
      conversation.server.beginDrain();
      assertEquals(ServingStatus.NOT_SERVING, watched.next().getStatus());
      assertEquals(Code.UNAVAILABLE, code(watched::next));
      assertTrue(conversation.server.drain(Duration.ofSeconds(20)));
    }
  }

  private static void assertHealth(ServingStatus expected, GrpcConversation conversation) {
    HealthGrpc.HealthBlockingStub health = HealthGrpc.newBlockingStub(conversation.channel);
    for (String service : List.of("", GRPCInferenceServiceGrpc.SERVICE_NAME)) {
      HealthCheckRequest request = HealthCheckRequest.newBuilder().setService(service).build();
      assertEquals(expected, health.check(request).getStatus(), service);
    }
  }

  /** Neither counts as a request, so that what asks for them keeps no model from giving way. */
  @Test
  void healthAndMetadata_areNoUseOfAModel() throws Exception {
    InferenceStatistics statistics = new InferenceStatistics();
    InferenceService unused =
        (request, _) -> {
          throw new AssertionError("asked for an inference: " + request);
        };
    try (GrpcConversation conversation =
        new GrpcConversation(catalog -> Backends.of(catalog, unused, statistics))) {
      var client = conversation.client();
      assertHealth(ServingStatus.SERVING, conversation);
      assertTrue(client.serverLive(ServerLiveRequest.getDefaultInstance()).getLive());
      assertTrue(client.serverReady(ServerReadyRequest.getDefaultInstance()).getReady());
      assertTrue(
          client.modelReady(ModelReadyRequest.newBuilder().setName("echo").build()).getReady());
      var _ = client.modelMetadata(ModelMetadataRequest.newBuilder().setName("echo").build());
      assertFalse(statistics.of(new ModelVersion("echo", 2)).hasBeenAsked());
    }
  }

  @Test
  void reflection_listsTheServices() throws Exception {
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      BlockingQueue<ServerReflectionResponse> answers = new LinkedBlockingQueue<>();
      StreamObserver<ServerReflectionRequest> requests =
          ServerReflectionGrpc.newStub(conversation.channel)
              .serverReflectionInfo(collecting(answers, new CountDownLatch(1)));
      requests.onNext(ServerReflectionRequest.newBuilder().setListServices("").build());
      List<String> services =
          answers.take().getListServicesResponse().getServiceList().stream()
              .map(service -> service.getName())
              .toList();
      assertTrue(services.contains("inference.GRPCInferenceService"), services.toString());
      requests.onCompleted();
    }
  }

  @Test
  void repositoryCalls_areHandedOn() throws Exception {
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      var client = conversation.client();
      assertEquals(
          2, client.repositoryIndex(RepositoryIndexRequest.getDefaultInstance()).getModelsCount());
      assertEquals(
          "echo",
          client
              .repositoryIndex(RepositoryIndexRequest.newBuilder().setReady(true).build())
              .getModels(0)
              .getName());
      conversation.catalog.loading.complete(null);
      RepositoryModelLoadRequest load =
          RepositoryModelLoadRequest.newBuilder().setModelName("echo").build();
      ModelRepositoryParameter file =
          ModelRepositoryParameter.newBuilder()
              .setBytesParam(ByteString.copyFromUtf8("abc"))
              .build();
      assertEquals(0, client.repositoryModelLoad(load).getSerializedSize());
      assertEquals(
          Code.NOT_FOUND,
          code(
              () ->
                  client.repositoryModelUnload(
                      RepositoryModelUnloadRequest.newBuilder().setModelName("x").build())));
      assertEquals(
          Code.INVALID_ARGUMENT,
          code(
              () ->
                  client.repositoryModelLoad(
                      load.toBuilder().putParameters("file:1/model.onnx", file).build())));
      ModelRepositoryParameter config =
          ModelRepositoryParameter.newBuilder().setStringParam("{}").build();
      assertEquals(
          0,
          client
              .repositoryModelLoad(
                  load.toBuilder()
                      .putParameters("config", config)
                      .putParameters("file:1/model.onnx", file)
                      .build())
              .getSerializedSize());
      assertEquals(
          List.of("load echo", "unload x", "load echo as {} with 1/model.onnx 3"),
          conversation.catalog.calls);
    }
  }

  /** As Triton answers it. */
  @Test
  void repositoryCalls_ofANamedRepository_areRefused() throws Exception {
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      var client = conversation.client();
      List<Runnable> calls =
          List.of(
              () ->
                  client.repositoryIndex(
                      RepositoryIndexRequest.newBuilder().setRepositoryName("other").build()),
              () ->
                  client.repositoryModelLoad(
                      RepositoryModelLoadRequest.newBuilder()
                          .setRepositoryName("other")
                          .setModelName("echo")
                          .build()),
              () ->
                  client.repositoryModelUnload(
                      RepositoryModelUnloadRequest.newBuilder()
                          .setRepositoryName("other")
                          .setModelName("echo")
                          .build()));
      for (Runnable call : calls) {
        Status status = assertThrows(StatusRuntimeException.class, call::run).getStatus();
        assertEquals(Code.UNIMPLEMENTED, status.getCode());
        assertEquals(
            "there is one repository, which has no name;"
                + " leave repository_name empty instead of \"other\"",
            status.getDescription());
      }
      assertEquals(List.of(), conversation.catalog.calls);
    }
  }

  @Test
  void repositoryParameters_mustHaveTheirTypes() throws Exception {
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      var client = conversation.client();
      RepositoryModelLoadRequest load =
          RepositoryModelLoadRequest.newBuilder().setModelName("echo").build();
      ModelRepositoryParameter text =
          ModelRepositoryParameter.newBuilder().setStringParam("true").build();
      ModelRepositoryParameter number =
          ModelRepositoryParameter.newBuilder().setInt64Param(1).build();
      assertEquals(
          "parameter \"deadline\" must be int64_param, not string_param",
          reason(
              () ->
                  client.repositoryModelLoad(
                      load.toBuilder().putParameters("deadline", text).build())));
      assertEquals(
          "parameter \"config\" must be string_param, not int64_param",
          reason(
              () ->
                  client.repositoryModelLoad(
                      load.toBuilder().putParameters("config", number).build())));
      assertEquals(
          "parameter \"file:1/a\" must be bytes_param, not string_param",
          reason(
              () ->
                  client.repositoryModelLoad(
                      load.toBuilder().putParameters("file:1/a", text).build())));
      assertEquals(
          "parameter \"unload_dependents\" must be bool_param, not string_param",
          reason(
              () ->
                  client.repositoryModelUnload(
                      RepositoryModelUnloadRequest.newBuilder()
                          .setModelName("echo")
                          .putParameters("unload_dependents", text)
                          .build())));
    }
  }

  private static String reason(Runnable call) {
    Status status = assertThrows(StatusRuntimeException.class, call::run).getStatus();
    assertEquals(Code.INVALID_ARGUMENT, status.getCode());
    return String.valueOf(status.getDescription());
  }

  @Test
  void statistics_countEachInferenceOnce() throws Exception {
    try (GrpcConversation conversation = new GrpcConversation(EchoService.inline())) {
      var client = conversation.client();
      for (int i = 0; i < 3; i++) {
        assertEquals("echo", client.modelInfer(raw("echo", 1, 2, 3, 4)).getModelName());
      }
      assertEquals(Code.INVALID_ARGUMENT, code(() -> client.modelInfer(raw("echo", 1))));
      ModelStatistics echo =
          client
              .modelStatistics(ModelStatisticsRequest.newBuilder().setName("echo").build())
              .getModelStats(0);
      assertEquals(3, echo.getInferenceCount());
      assertEquals(3, echo.getInferenceStats().getSuccess().getCount());
      assertEquals(1, echo.getInferenceStats().getFail().getCount());
      assertEquals(3 * 3, echo.getInferenceStats().getComputeInfer().getNs());
      assertEquals(3 * 1, echo.getInferenceStats().getQueue().getNs());
      assertEquals(
          1,
          client.modelStatistics(ModelStatisticsRequest.getDefaultInstance()).getModelStatsCount());
      assertEquals(
          0,
          client
              .modelStatistics(ModelStatisticsRequest.newBuilder().setName("pair").build())
              .getModelStats(0)
              .getInferenceCount());
      assertEquals(
          Code.NOT_FOUND,
          code(
              () ->
                  client.modelStatistics(
                      ModelStatisticsRequest.newBuilder().setName("nobody").build())));
    }
  }
}
