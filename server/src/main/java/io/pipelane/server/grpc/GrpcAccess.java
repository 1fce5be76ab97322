package io.pipelane.server.grpc;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Caller;
import io.pipelane.server.access.Demand;
import io.pipelane.server.access.Role;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The interceptor that lets calls in by their key: its roles and limits before the call begins.
 * Which models a key is for is looked at by the calls themselves, as only their messages name one.
 * A call of many messages, which may outlive its key, asks for each message anew who makes it.
 */
final class GrpcAccess implements ServerInterceptor {
  private static final Context.Key<Caller> CALLER =
      Context.keyWithDefault("caller", Caller.ANYBODY);
  private static final Context.Key<Supplier<Caller>> IDENTIFICATION =
      Context.keyWithDefault("identification", () -> Caller.ANYBODY);
  private static final Context.Key<OptionalInt> MANAGEMENT_PORT =
      Context.keyWithDefault("management port", OptionalInt.empty());
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> API_KEY =
      Metadata.Key.of("x-api-key", Metadata.ASCII_STRING_MARSHALLER);

  private static final Demand INFERENCE = Demand.of(Role.INFER, "");
  private static final Set<Role> MANAGE_ALONE = Set.of(Role.MANAGE);

  private final AccessControl access;

  GrpcAccess(AccessControl access) {
    this.access = access;
  }

  /** Who makes the call whose method is running. */
  static Caller caller() {
    return Objects.requireNonNull(CALLER.get());
  }

  /**
   * Checks what the message of the call whose method is running demands, beside its method; throws
   * {@link Status#PERMISSION_DENIED}.
   */
  static Consumer<Demand> ofMessage() {
    Caller caller = caller();
    OptionalInt managementPort = Objects.requireNonNull(MANAGEMENT_PORT.get());
    return demand -> {
      checkPort(managementPort, demand);
      caller.check(demand);
    };
  }

  /** What reading a setting demands, and changing one. */
  static Demand ofSetting(boolean changes, String model) {
    return changes ? Demand.of(Role.MANAGE, model) : Demand.ofObserver(model);
  }

  /**
   * Says who makes the call of many messages whose method is running, by the keys as they are when
   * it is asked; it throws {@link Status#UNAUTHENTICATED} once the call's key holds no longer.
   */
  static Supplier<Caller> identification() {
    return Objects.requireNonNull(IDENTIFICATION.get());
  }

  /**
   * What a call needs, whatever model it is about.
   *
   * @param method its full name, with the service's
   */
  static Demand demand(String method) {
    if (method.startsWith("grpc.health.v1.Health/")) {
      return Demand.NONE;
    }
    return switch (method.substring(method.lastIndexOf('/') + 1)) {
      case "ServerLive", "ServerReady" -> Demand.NONE;
      case "ServerMetadata", "ModelMetadata", "ModelReady", "ModelConfig", "ServerReflectionInfo" ->
          Demand.ofAny("");
      case "ModelInfer", "ModelStreamInfer" -> INFERENCE;
      case "ModelStatistics" -> Demand.of(Role.OBSERVE, "");
      case "RepositoryIndex",
          "TraceSetting",
          "LogSettings",
          "SystemSharedMemoryStatus",
          "CudaSharedMemoryStatus" ->
          Demand.ofObserver("");
      default -> Demand.of(Role.MANAGE, "");
    };
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    Demand demand = demand(call.getMethodDescriptor().getFullMethodName());
    if (demand.isPublic()) {
      return next.startCall(call, headers);
    }
    String authorization = headers.get(AUTHORIZATION);
    String apiKey = headers.get(API_KEY);
    Caller caller;
    try {
      checkPort(access.managementPort(), demand);
      caller = access.identify(authorization, apiKey);
      caller.check(demand);
      caller.begin();
    } catch (StatusException e) {
      call.close(GrpcStatusMapping.status(e), GrpcStatusMapping.trailers(e));
      return new ServerCall.Listener<>() {};
    }
    if (caller == Caller.ANYBODY && access.managementPort().isEmpty()) {
      return next.startCall(call, headers); // As a call is that nothing is said of.
    }
    try {
      Context context =
          Context.current()
              .withValue(CALLER, caller)
              .withValue(MANAGEMENT_PORT, access.managementPort());
      if (!call.getMethodDescriptor().getType().clientSendsOneMessage()) {
        context = context.withValue(IDENTIFICATION, () -> access.identify(authorization, apiKey));
      }
      return new Ending<>(Contexts.interceptCall(context, call, headers, next), caller);
    } catch (RuntimeException | Error e) {
      caller.end();
      throw e;
    }
  }

  private static void checkPort(OptionalInt managementPort, Demand demand) {
    if (managementPort.isPresent() && demand.roles().equals(MANAGE_ALONE)) {
      throw new StatusException(
          Status.PERMISSION_DENIED,
          "management is served over HTTP alone, at port " + managementPort.getAsInt());
    }
  }

  /**
   * A listener that tells the caller's limits when the call has ended; that is told once, one way
   * or the other.
   */
  private static final class Ending<Q> extends SimpleForwardingServerCallListener<Q> {
    private final Caller caller;

    Ending(ServerCall.Listener<Q> listener, Caller caller) {
      super(listener);
      this.caller = caller;
    }

    @Override
    public void onComplete() {
      caller.end();
      super.onComplete();
    }

    @Override
    public void onCancel() {
      caller.end();
      super.onCancel();
    }
  }
}
