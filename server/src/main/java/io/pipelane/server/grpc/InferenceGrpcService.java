package io.pipelane.server.grpc;

import io.grpc.Metadata;
import io.grpc.stub.StreamObserver;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc.GRPCInferenceServiceImplBase;
import io.pipelane.protocol.grpc.LogSettingsRequest;
import io.pipelane.protocol.grpc.LogSettingsResponse;
import io.pipelane.protocol.grpc.ModelConfigRequest;
import io.pipelane.protocol.grpc.ModelConfigResponse;
import io.pipelane.protocol.grpc.ModelMetadataRequest;
import io.pipelane.protocol.grpc.ModelMetadataResponse;
import io.pipelane.protocol.grpc.ModelReadyRequest;
import io.pipelane.protocol.grpc.ModelReadyResponse;
import io.pipelane.protocol.grpc.ModelStatisticsRequest;
import io.pipelane.protocol.grpc.ModelStatisticsResponse;
import io.pipelane.protocol.grpc.RepositoryIndexRequest;
import io.pipelane.protocol.grpc.RepositoryIndexResponse;
import io.pipelane.protocol.grpc.RepositoryModelLoadRequest;
import io.pipelane.protocol.grpc.RepositoryModelLoadResponse;
import io.pipelane.protocol.grpc.RepositoryModelUnloadRequest;
import io.pipelane.protocol.grpc.RepositoryModelUnloadResponse;
import io.pipelane.protocol.grpc.ServerLiveRequest;
import io.pipelane.protocol.grpc.ServerLiveResponse;
import io.pipelane.protocol.grpc.ServerMetadataRequest;
import io.pipelane.protocol.grpc.ServerMetadataResponse;
import io.pipelane.protocol.grpc.ServerReadyRequest;
import io.pipelane.protocol.grpc.ServerReadyResponse;
import io.pipelane.protocol.grpc.SystemSharedMemoryRegisterRequest;
import io.pipelane.protocol.grpc.SystemSharedMemoryRegisterResponse;
import io.pipelane.protocol.grpc.SystemSharedMemoryStatusRequest;
import io.pipelane.protocol.grpc.SystemSharedMemoryStatusResponse;
import io.pipelane.protocol.grpc.SystemSharedMemoryUnregisterRequest;
import io.pipelane.protocol.grpc.SystemSharedMemoryUnregisterResponse;
import io.pipelane.protocol.grpc.TraceSettingRequest;
import io.pipelane.protocol.grpc.TraceSettingResponse;
import io.pipelane.server.access.Caller;
import io.pipelane.server.access.Demand;
import io.pipelane.server.access.ManagementLog;
import io.pipelane.server.access.Role;
import io.pipelane.server.catalog.LoadOptions;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.protocol.Answers;
import io.pipelane.server.protocol.ModelConfigs;
import io.pipelane.server.protocol.ProductVersion;
import io.pipelane.server.shared.RegionSpec;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The calls that ask or change something, which is all but ModelInfer, which {@link
 * InferCallHandler} answers, and ModelStreamInfer, which {@link InferStream} does. Those not named
 * here are answered UNIMPLEMENTED. Methods return at once.
 */
final class InferenceGrpcService extends GRPCInferenceServiceImplBase {
  private final InferenceParts parts;
  private final Backend backend;
  private final @Nullable CallForwarding forwarding;

  /**
   * Answers from what all front ends share.
   *
   * @param forwarding says which questions others answer; null where there are no others
   */
  InferenceGrpcService(InferenceParts parts, @Nullable CallForwarding forwarding) {
    this.parts = parts;
    this.backend = parts.backend();
    this.forwarding = forwarding;
  }

  @Override
  public void serverLive(ServerLiveRequest request, StreamObserver<ServerLiveResponse> observer) {
    CallEnd.answer(observer, () -> ServerLiveResponse.newBuilder().setLive(true).build());
  }

  @Override
  public void serverReady(
      ServerReadyRequest request, StreamObserver<ServerReadyResponse> observer) {
    CallEnd.answer(
        observer, () -> ServerReadyResponse.newBuilder().setReady(backend.isReady()).build());
  }

  @Override
  public void modelReady(ModelReadyRequest request, StreamObserver<ModelReadyResponse> observer) {
    Caller caller = GrpcAccess.caller();
    answerOrAsk(
        observer,
        new Asked(request.getName(), request.getVersion(), "/ready"),
        () -> {
          caller.check(Demand.ofAny(request.getName()));
          return ready(backend.find(request.getName(), request.getVersion()) != null);
        },
        _ -> ready(true),
        ready(false));
  }

  private static ModelReadyResponse ready(boolean ready) {
    return ModelReadyResponse.newBuilder().setReady(ready).build();
  }

  @Override
  public void serverMetadata(
      ServerMetadataRequest request, StreamObserver<ServerMetadataResponse> observer) {
    CallEnd.answer(
        observer,
        () ->
            ServerMetadataResponse.newBuilder()
                .setName(Answers.SERVER_NAME)
                .setVersion(ProductVersion.get())
                .addAllExtensions(Answers.extensions(backend.sharedMemory().isOn()))
                .build());
  }

  @Override
  public void modelMetadata(
      ModelMetadataRequest request, StreamObserver<ModelMetadataResponse> observer) {
    Caller caller = GrpcAccess.caller();
    answerOrAsk(
        observer,
        new Asked(request.getName(), request.getVersion(), ""),
        () -> {
          caller.check(Demand.ofAny(request.getName()));
          ServedModel model = backend.resolve(request.getName(), request.getVersion());
          return Messages.metadata(model, backend.catalog().declared(model.version()));
        },
        json -> ForwardedQuestion.merged(json, ModelMetadataResponse.newBuilder()).build(),
        null);
  }

  @Override
  public void modelConfig(
      ModelConfigRequest request, StreamObserver<ModelConfigResponse> observer) {
    Caller caller = GrpcAccess.caller();
    answerOrAsk(
        observer,
        new Asked(request.getName(), request.getVersion(), "/config"),
        () -> {
          caller.check(Demand.ofAny(request.getName()));
          ServedModel model = backend.resolve(request.getName(), request.getVersion());
          return ModelConfigResponse.newBuilder()
              .setConfig(ModelConfigs.of(model, backend.catalog().declared(model.version())))
              .build();
        },
        json -> {
          ModelConfigResponse.Builder answer = ModelConfigResponse.newBuilder();
          ForwardedQuestion.merged(json, answer.getConfigBuilder());
          return answer.build();
        },
        null);
  }

  @Override
  public void modelStatistics(
      ModelStatisticsRequest request, StreamObserver<ModelStatisticsResponse> observer) {
    Caller caller = GrpcAccess.caller();
    answerOnCodec(
        observer,
        () -> {
          caller.check(Demand.of(Role.OBSERVE, request.getName()));
          return Messages.statistics(
              backend.statisticsOf(request.getName(), request.getVersion()).stream()
                  .filter(model -> caller.sees(model.version().model()))
                  .toList(),
              backend.state().held());
        });
  }

  @Override
  public void repositoryIndex(
      RepositoryIndexRequest request, StreamObserver<RepositoryIndexResponse> observer) {
    Caller caller = GrpcAccess.caller();
    CallEnd.answer(
        observer,
        () -> {
          RepositoryParameters.requireUnnamed(request.getRepositoryName());
          return Messages.index(
              backend.catalog().index().stream()
                  .filter(entry -> caller.sees(entry.name()))
                  .toList(),
              request.getReady());
        });
  }

  @Override
  public void repositoryModelLoad(
      RepositoryModelLoadRequest request, StreamObserver<RepositoryModelLoadResponse> observer) {
    Caller caller = GrpcAccess.caller();
    CallEnd.answerWhenDone(
        observer,
        () -> {
          caller.check(Demand.of(Role.MANAGE, request.getModelName()));
          RepositoryParameters.requireUnnamed(request.getRepositoryName());
          LoadOptions options = new RepositoryParameters(request.getParametersMap()).load();
          return ManagementLog.tellWhenDone(
              backend.catalog().load(request.getModelName(), options, caller::checkManages),
              caller,
              request.getModelName() + " is loaded");
        },
        RepositoryModelLoadResponse.getDefaultInstance());
  }

  @Override
  public void repositoryModelUnload(
      RepositoryModelUnloadRequest request,
      StreamObserver<RepositoryModelUnloadResponse> observer) {
    Caller caller = GrpcAccess.caller();
    CallEnd.answerWhenDone(
        observer,
        () -> {
          caller.check(Demand.of(Role.MANAGE, request.getModelName()));
          RepositoryParameters.requireUnnamed(request.getRepositoryName());
          String name = request.getModelName();
          boolean dependents =
              new RepositoryParameters(request.getParametersMap()).unloadsDependents();
          return ManagementLog.tellWhenDone(
              dependents
                  ? backend.catalog().unloadWithDependents(name, caller::checkManages)
                  : backend.catalog().unload(name),
              caller,
              ManagementLog.unloaded(name, dependents));
        },
        RepositoryModelUnloadResponse.getDefaultInstance());
  }

  @Override
  public void traceSetting(
      TraceSettingRequest request, StreamObserver<TraceSettingResponse> observer) {
    Caller caller = GrpcAccess.caller();
    Consumer<Demand> access = GrpcAccess.ofMessage();
    CallEnd.answer(
        observer,
        () -> {
          String name = request.getModelName();
          boolean changes = request.getSettingsCount() > 0;
          String about = name.isEmpty() && changes ? Demand.ALL_MODELS : name;
          access.accept(GrpcAccess.ofSetting(changes, about));
          String model = name.isEmpty() ? null : backend.resolve(name, "").version().model();
          TraceSettingResponse answer =
              SettingMessages.trace(backend.observation().tracing(), model, request);
          if (changes) {
            ManagementLog.tell(caller, ManagementLog.traceSettings(model));
          }
          return answer;
        });
  }

  @Override
  public void logSettings(
      LogSettingsRequest request, StreamObserver<LogSettingsResponse> observer) {
    Caller caller = GrpcAccess.caller();
    Consumer<Demand> access = GrpcAccess.ofMessage();
    CallEnd.answer(
        observer,
        () -> {
          boolean changes = request.getSettingsCount() > 0;
          access.accept(GrpcAccess.ofSetting(changes, changes ? Demand.ALL_MODELS : ""));
          return SettingMessages.log(
              backend.observation().logging(),
              request,
              () -> ManagementLog.tell(caller, ManagementLog.LOG_SETTINGS));
        });
  }

  @Override
  public void systemSharedMemoryStatus(
      SystemSharedMemoryStatusRequest request,
      StreamObserver<SystemSharedMemoryStatusResponse> observer) {
    Caller caller = GrpcAccess.caller();
    CallEnd.answer(
        observer,
        () -> {
          caller.check(GrpcAccess.ofSetting(false, Demand.ALL_MODELS));
          return SharedMemoryMessages.status(backend.sharedMemory().status(request.getName()));
        });
  }

  @Override
  public void systemSharedMemoryRegister(
      SystemSharedMemoryRegisterRequest request,
      StreamObserver<SystemSharedMemoryRegisterResponse> observer) {
    Caller caller = GrpcAccess.caller();
    CallEnd.answerWhenDone(
        observer,
        () -> {
          caller.check(Demand.of(Role.MANAGE, Demand.ALL_MODELS));
          RegionSpec region = SharedMemoryMessages.region(request);
          return ManagementLog.tellWhenDone(
              CompletableFuture.runAsync(
                  () -> backend.sharedMemory().register(region), parts.codecs()),
              caller,
              ManagementLog.registered(region.name(), region.key()));
        },
        SystemSharedMemoryRegisterResponse.getDefaultInstance());
  }

  @Override
  public void systemSharedMemoryUnregister(
      SystemSharedMemoryUnregisterRequest request,
      StreamObserver<SystemSharedMemoryUnregisterResponse> observer) {
    Caller caller = GrpcAccess.caller();
    CallEnd.answerWhenDone(
        observer,
        () -> {
          caller.check(Demand.of(Role.MANAGE, Demand.ALL_MODELS));
          return ManagementLog.tellWhenDone(
              backend.sharedMemory().unregister(request.getName()),
              caller,
              ManagementLog.unregistered(request.getName()));
        },
        SystemSharedMemoryUnregisterResponse.getDefaultInstance());
  }

  /** Answers with what takes locks to find out. */
  private <T> void answerOnCodec(StreamObserver<T> observer, Supplier<T> answer) {
    try {
      parts.codecs().execute(() -> CallEnd.answer(observer, answer));
    } catch (RejectedExecutionException e) {
      CallEnd.fail(observer, CodecThreads.busy("gathering statistics"));
    }
  }

  /**
   * A question about a model.
   *
   * @param what the end of its path over HTTP
   */
  private record Asked(String model, String version, String what) {}

  /**
   * Answers, or has another host answer for what is not here.
   *
   * @param reader reads the other host's JSON
   * @param unanswered the answer where nobody has one; null to fail then
   */
  private <T> void answerOrAsk(
      StreamObserver<T> observer,
      Asked asked,
      Supplier<T> here,
      Function<String, T> reader,
      @Nullable T unanswered) {
    @Nullable Metadata metadata = ClientMetadata.ofCall();
    Runnable answering = () -> CallEnd.answer(observer, here);
    boolean isAsked =
        forwarding != null
            && metadata != null
            && forwarding.ask(
                asked.model,
                asked.version,
                asked.what,
                metadata,
                GrpcAccess.caller(),
                new ForwardedQuestion<>(observer, answering, reader, unanswered));
    if (!isAsked) {
      answering.run();
    }
  }
}
