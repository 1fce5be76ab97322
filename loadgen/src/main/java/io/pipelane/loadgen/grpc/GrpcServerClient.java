package io.pipelane.loadgen.grpc;

import io.grpc.ManagedChannel;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.request.ModelMetadata;
import io.pipelane.loadgen.request.TensorMetadata;
import io.pipelane.loadgen.result.ServerText;
import io.pipelane.loadgen.server.ModelStatistics;
import io.pipelane.loadgen.server.ServerClient;
import io.pipelane.loadgen.server.ServerDescription;
import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import io.pipelane.protocol.grpc.InferStatistics;
import io.pipelane.protocol.grpc.ModelMetadataRequest;
import io.pipelane.protocol.grpc.ModelMetadataResponse;
import io.pipelane.protocol.grpc.ModelStatisticsRequest;
import io.pipelane.protocol.grpc.RepositoryIndexRequest;
import io.pipelane.protocol.grpc.RepositoryIndexResponse.ModelIndex;
import io.pipelane.protocol.grpc.ServerMetadataRequest;
import io.pipelane.protocol.grpc.ServerMetadataResponse;
import io.pipelane.protocol.grpc.StatisticDuration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A client that asks by the protocol's gRPC service. */
public final class GrpcServerClient implements ServerClient {
  private static final long TIMEOUT_SECONDS = 30;

  private final Endpoint endpoint;
  private final ManagedChannel channel;

  /** Prepares to ask a server at a gRPC address. */
  public GrpcServerClient(Endpoint endpoint) {
    this.endpoint = endpoint;
    this.channel = Channels.to(endpoint).build();
  }

  @Override
  public ModelMetadata model(String name, String version) {
    try {
      ModelMetadataResponse answer =
          stub()
              .modelMetadata(
                  ModelMetadataRequest.newBuilder().setName(name).setVersion(version).build());
      return new ModelMetadata(
          name, version, tensors(answer.getInputsList()), tensors(answer.getOutputsList()));
    } catch (StatusRuntimeException e) {
      Code code = e.getStatus().getCode();
      throw failure("the metadata of " + name, code == Code.NOT_FOUND ? Status.NOT_FOUND : null, e);
    }
  }

  @Override
  public List<String> readyModels() {
    try {
      return stub()
          .repositoryIndex(RepositoryIndexRequest.newBuilder().setReady(true).build())
          .getModelsList()
          .stream()
          .filter(model -> model.getState().isEmpty() || model.getState().equals("READY"))
          .map(ModelIndex::getName)
          .sorted()
          .distinct()
          .toList();
    } catch (StatusRuntimeException e) {
      Code code = e.getStatus().getCode();
      throw failure(
          "the index; name the models with --model",
          code == Code.UNAVAILABLE ? null : Status.UNIMPLEMENTED,
          e);
    }
  }

  @Override
  public ServerDescription description() {
    try {
      ServerMetadataResponse answer =
          stub().serverMetadata(ServerMetadataRequest.getDefaultInstance());
      return new ServerDescription(answer.getName(), answer.getVersion());
    } catch (StatusRuntimeException e) {
      return ServerDescription.UNKNOWN;
    }
  }

  @Override
  public Optional<ModelStatistics> statistics(String model) {
    try {
      return stub()
          .modelStatistics(ModelStatisticsRequest.newBuilder().setName(model).build())
          .getModelStatsList()
          .stream()
          .map(
              version ->
                  new ModelStatistics(
                      version.getInferenceCount(),
                      version.getExecutionCount(),
                      times(version.getInferenceStats())))
          .reduce(ModelStatistics::plus);
    } catch (StatusRuntimeException e) {
      return Optional.empty();
    }
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }

  private GRPCInferenceServiceBlockingStub stub() {
    return GRPCInferenceServiceGrpc.newBlockingStub(channel)
        .withDeadlineAfter(TIMEOUT_SECONDS, TimeUnit.SECONDS);
  }

  private static List<TensorMetadata> tensors(List<ModelMetadataResponse.TensorMetadata> declared) {
    return declared.stream()
        .map(
            tensor ->
                new TensorMetadata(tensor.getName(), tensor.getDatatype(), tensor.getShapeList()))
        .toList();
  }

  /** By the names that they have in JSON. */
  private static Map<String, ModelStatistics.Time> times(InferStatistics statistics) {
    Map<String, ModelStatistics.Time> times = new LinkedHashMap<>();
    statistics
        .getAllFields()
        .forEach(
            (field, value) -> {
              if (value instanceof StatisticDuration time) {
                times.put(field.getName(), new ModelStatistics.Time(time.getCount(), time.getNs()));
              }
            });
    return times;
  }

  private StatusException failure(String what, @Nullable Status status, StatusRuntimeException e) {
    return new StatusException(
        status == null ? Status.UNAVAILABLE : status,
        "cannot ask %s for %s: %s".formatted(endpoint, what, words(e.getStatus())),
        e);
  }

  /** A status in one line; its own text has the stack trace of what is behind it. */
  private static String words(io.grpc.Status status) {
    String said = status.getDescription() == null ? "" : ": " + status.getDescription();
    Throwable cause = status.getCause();
    String behind = cause == null || cause.getMessage() == null ? "" : ", " + cause.getMessage();
    return ServerText.of(status.getCode() + said + behind);
  }
}
