package io.pipelane.server.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.stub.StreamObserver;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import io.pipelane.protocol.grpc.LogSettingsRequest;
import io.pipelane.protocol.grpc.ModelConfigRequest;
import io.pipelane.protocol.grpc.ModelInferRequest;
import io.pipelane.protocol.grpc.ModelMetadataRequest;
import io.pipelane.protocol.grpc.ModelReadyRequest;
import io.pipelane.protocol.grpc.ModelStatisticsRequest;
import io.pipelane.protocol.grpc.ModelStreamInferResponse;
import io.pipelane.protocol.grpc.RepositoryIndexRequest;
import io.pipelane.protocol.grpc.RepositoryModelLoadRequest;
import io.pipelane.protocol.grpc.RepositoryModelUnloadRequest;
import io.pipelane.protocol.grpc.ServerLiveRequest;
import io.pipelane.protocol.grpc.ServerMetadataRequest;
import io.pipelane.protocol.grpc.ServerReadyRequest;
import io.pipelane.protocol.grpc.SystemSharedMemoryRegisterRequest;
import io.pipelane.protocol.grpc.SystemSharedMemoryStatusRequest;
import io.pipelane.protocol.grpc.TraceSettingRequest;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Keys;
import io.pipelane.server.access.ManagementLog;
import io.pipelane.server.access.TestTokens;
import io.pipelane.server.http.EchoService;
import io.pipelane.server.net.CapturedLog;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Each call, made with each role's key and with none. */
@Timeout(60)
class GrpcAccessTest {
  private static final Set<Code> REFUSED = Set.of(Code.UNAUTHENTICATED, Code.PERMISSION_DENIED);

  @TempDir Path folder;

  private static final TraceSettingRequest TRACE =
      TraceSettingRequest.newBuilder()
          .putSettings(
              "trace_level", TraceSettingRequest.SettingValue.newBuilder().addValue("OFF").build())
          .build();
  private static final LogSettingsRequest LOG =
      LogSettingsRequest.newBuilder()
          .putSettings(
              "log_info", LogSettingsRequest.SettingValue.newBuilder().setBoolParam(true).build())
          .build();

  private record Call(Consumer<GRPCInferenceServiceBlockingStub> made, Set<String> welcome) {
    static Call of(String welcome, Consumer<GRPCInferenceServiceBlockingStub> made) {
      return new Call(made, Set.of(welcome.split(" ", -1)));
    }
  }

  private static Map<String, Call> calls(String model) {
    String all = "infer manage observe";
    Map<String, Call> calls = new LinkedHashMap<>();
    calls.put(
        "live",
        Call.of(all + " nobody", c -> c.serverLive(ServerLiveRequest.getDefaultInstance())));
    calls.put(
        "ready",
        Call.of(all + " nobody", c -> c.serverReady(ServerReadyRequest.getDefaultInstance())));
    calls.put(
        "server", Call.of(all, c -> c.serverMetadata(ServerMetadataRequest.getDefaultInstance())));
    calls.put(
        "model",
        Call.of(
            all, c -> c.modelMetadata(ModelMetadataRequest.newBuilder().setName(model).build())));
    calls.put(
        "modelReady",
        Call.of(all, c -> c.modelReady(ModelReadyRequest.newBuilder().setName(model).build())));
    calls.put(
        "config",
        Call.of(all, c -> c.modelConfig(ModelConfigRequest.newBuilder().setName(model).build())));
    calls.put("infer", Call.of("infer", c -> c.modelInfer(request(model))));
    calls.put(
        "statistics",
        Call.of(
            "observe",
            c -> c.modelStatistics(ModelStatisticsRequest.newBuilder().setName(model).build())));
    calls.put(
        "index",
        Call.of(
            "manage observe", c -> c.repositoryIndex(RepositoryIndexRequest.getDefaultInstance())));
    calls.put(
        "load",
        Call.of(
            "manage",
            c ->
                c.repositoryModelLoad(
                    RepositoryModelLoadRequest.newBuilder().setModelName(model).build())));
    calls.put(
        "unload",
        Call.of(
            "manage",
            c ->
                c.repositoryModelUnload(
                    RepositoryModelUnloadRequest.newBuilder().setModelName(model).build())));
    calls.put(
        "trace",
        Call.of("manage observe", c -> c.traceSetting(TraceSettingRequest.getDefaultInstance())));
    calls.put("traces", Call.of("manage", c -> c.traceSetting(TRACE)));
    calls.put(
        "log",
        Call.of("manage observe", c -> c.logSettings(LogSettingsRequest.getDefaultInstance())));
    calls.put("logs", Call.of("manage", c -> c.logSettings(LOG)));
    calls.put(
        "regions",
        Call.of(
            "manage observe",
            c -> c.systemSharedMemoryStatus(SystemSharedMemoryStatusRequest.getDefaultInstance())));
    calls.put(
        "memory",
        Call.of(
            "manage",
            c ->
                c.systemSharedMemoryRegister(
                    SystemSharedMemoryRegisterRequest.getDefaultInstance())));
    return calls;
  }

  private static Call call(String model, String name) {
    return Objects.requireNonNull(calls(model).get(name));
  }

  private static ModelInferRequest request(String model) {
    return Inferences.raw(model, 1, 2, 3, 4);
  }

  private static Code code(
      Consumer<GRPCInferenceServiceBlockingStub> call, GRPCInferenceServiceBlockingStub client) {
    try {
      call.accept(client);
      return Code.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus().getCode();
    }
  }

  @Test
  void call_letsInWhoMay() throws IOException {
    try (AccessControl access = Keys.of(folder, Keys.usual());
        GrpcConversation conversation = new GrpcConversation(EchoService.inline(), access)) {
      conversation.catalog.loading.complete(null);
      calls("echo")
          .forEach(
              (name, call) -> {
                for (String key : List.of("infer", "manage", "observe")) {
                  Code code = code(call.made, conversation.client(key));
                  assertEquals(
                      call.welcome.contains(key), !REFUSED.contains(code), name + key + code);
                }
                boolean open = call.welcome.contains("nobody");
                assertEquals(
                    open, code(call.made, conversation.client()) != Code.UNAUTHENTICATED, name);
                assertEquals(
                    open, code(call.made, conversation.client("x")) != Code.UNAUTHENTICATED, name);
              });
      HealthGrpc.newBlockingStub(conversation.channel)
          .check(HealthCheckRequest.getDefaultInstance());
    }
  }

  @Test
  void call_letsInTokensOfTheSameRoles() throws IOException {
    try (AccessControl access = TestTokens.access(folder);
        GrpcConversation conversation = new GrpcConversation(EchoService.inline(), access)) {
      conversation.catalog.loading.complete(null);
      calls("echo")
          .forEach(
              (name, call) -> {
                for (String role : List.of("infer", "manage", "observe")) {
                  Code code = code(call.made, conversation.client(TestTokens.of(role)));
                  assertEquals(
                      call.welcome.contains(role), !REFUSED.contains(code), name + role + code);
                }
              });
    }
  }

  /** With a port of its own, management is not here; looking at what is set is. */
  @Test
  void managementPort_settingsAreReadAndNotChanged() throws IOException {
    try (AccessControl access = Keys.of(folder, Keys.usual(), OptionalInt.of(1234));
        GrpcConversation conversation = new GrpcConversation(EchoService.inline(), access)) {
      Map<String, Call> calls = calls("echo");
      for (String name : List.of("trace", "log", "regions", "traces", "logs", "load")) {
        Code code =
            code(Objects.requireNonNull(calls.get(name)).made, conversation.client("manage"));
        boolean isRead = !List.of("traces", "logs", "load").contains(name);
        assertEquals(isRead, code != Code.PERMISSION_DENIED, name + code);
      }
    }
  }

  @Test
  void changes_areLoggedWithWhoAskedForThem() throws IOException {
    try (AccessControl access = Keys.of(folder, Keys.usual());
        CapturedLog log = new CapturedLog();
        GrpcConversation conversation = new GrpcConversation(EchoService.inline(), access)) {
      conversation.catalog.loading.complete(null);
      conversation.catalog.unloads = true;
      for (String name : List.of("load", "unload", "trace", "traces", "log", "logs")) {
        call("echo", name).made.accept(conversation.client("manage"));
      }
      assertEquals(
          List.of(
              "echo is loaded, by key \"manage\"",
              "echo has left service, by key \"manage\"",
              "the trace settings of all models are changed, by key \"manage\"",
              "the log settings are changed, by key \"manage\""),
          log.texts(ManagementLog.class));
    }
  }

  @Test
  void modelsOfOthers_areRefused() throws IOException {
    try (AccessControl access = Keys.of(folder, Keys.usual());
        GrpcConversation conversation = new GrpcConversation(EchoService.inline(), access)) {
      for (String name : List.of("model", "modelReady", "infer", "statistics", "load", "unload")) {
        Code code = code(call("echo", name).made, conversation.client("tenant"));
        assertEquals(Code.PERMISSION_DENIED, code, name);
      }
      assertEquals(Code.OK, code(call("pair", "model").made, conversation.client("tenant")));
    }
  }

  @Test
  void streamsMessages_areLookedAtOneByOne() throws Exception {
    String entries =
        Keys.entry("k", "roles: [infer], models: [echo], requests-per-second: 0.001, burst: 2");
    try (AccessControl access = Keys.of(folder, entries);
        GrpcConversation conversation = new GrpcConversation(EchoService.inline(), access)) {
      List<String> errors = new ArrayList<>();
      CountDownLatch done = new CountDownLatch(1);
      StreamObserver<ModelInferRequest> requests =
          GRPCInferenceServiceGrpc.newStub(conversation.channel)
              .withInterceptors(conversation.key("k"))
              .modelStreamInfer(
                  new StreamObserver<ModelStreamInferResponse>() {
                    @Override
                    public void onNext(ModelStreamInferResponse answer) {
                      errors.add(answer.getErrorMessage());
                    }

                    @Override
                    public void onError(Throwable error) {
                      errors.add("the stream failed: " + error);
                      done.countDown();
                    }

                    @Override
                    public void onCompleted() {
                      done.countDown();
                    }
                  });
      requests.onNext(request("echo"));
      requests.onNext(request("pair"));
      requests.onNext(request("echo"));
      requests.onCompleted();
      done.await();
      assertEquals(3, errors.size(), errors.toString());
      assertEquals("", errors.get(0));
      assertTrue(errors.get(1).contains("not for model \"pair\""), errors.toString());
      assertTrue(errors.get(2).contains("times a second"), errors.toString());
    }
  }

  @Test
  void stream_endsWithItsKey() throws Exception {
    try (AccessControl access = Keys.of(folder, Keys.usual());
        GrpcConversation conversation = new GrpcConversation(EchoService.inline(), access)) {
      BlockingQueue<String> answers = new LinkedBlockingQueue<>();
      StreamObserver<ModelInferRequest> requests =
          GRPCInferenceServiceGrpc.newStub(conversation.channel)
              .withInterceptors(conversation.key("infer"))
              .modelStreamInfer(
                  new StreamObserver<ModelStreamInferResponse>() {
                    @Override
                    public void onNext(ModelStreamInferResponse answer) {
                      answers.add("answered" + answer.getErrorMessage());
                    }

                    @Override
                    public void onError(Throwable error) {
                      answers.add(io.grpc.Status.fromThrowable(error).getCode().name());
                    }

                    @Override
                    public void onCompleted() {
                      answers.add("completed");
                    }
                  });
      requests.onNext(request("echo"));
      assertEquals("answered", answers.take());
      Keys.replace(access, folder, Keys.entry("other", "roles: [infer]"));
      requests.onNext(request("echo"));
      assertEquals("UNAUTHENTICATED", answers.take());
    }
  }

  @Test
  void managementWithAPortOfItsOwn_isNotServed() throws IOException {
    try (AccessControl access = Keys.of(folder, Keys.usual(), OptionalInt.of(0));
        GrpcConversation conversation = new GrpcConversation(EchoService.inline(), access)) {
      assertEquals(
          Code.PERMISSION_DENIED, code(call("echo", "load").made, conversation.client("manage")));
    }
  }
}
