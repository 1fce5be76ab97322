package io.pipelane.server.grpc;

import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.protobuf.services.HealthStatusManager;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.Future;
import io.pipelane.protocol.grpc.GRPCInferenceServiceGrpc;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The server's readiness as {@code grpc.health.v1} tells it: who checks learns how it is then, who
 * watches learns of a change soon. Safe for any thread.
 */
final class ReadinessHealth {
  private static final Duration PERIOD = Duration.ofMillis(250);

  private final BooleanSupplier ready;
  private final HealthStatusManager statuses = new HealthStatusManager();
  private final Future<?> looks;

  /**
   * Looks at once, and from then on.
   *
   * @param loops on which it is looked, without blocking
   */
  ReadinessHealth(BooleanSupplier ready, EventLoopGroup loops) {
    this.ready = ready;
    look();
    looks =
        loops.scheduleWithFixedDelay(
            this::look, PERIOD.toMillis(), PERIOD.toMillis(), TimeUnit.MILLISECONDS);
  }

  private synchronized void look() {
    ServingStatus status = ready.getAsBoolean() ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
    statuses.setStatus(HealthStatusManager.SERVICE_NAME_ALL_SERVICES, status);
    statuses.setStatus(GRPCInferenceServiceGrpc.SERVICE_NAME, status);
  }

  ServerServiceDefinition service() {
    return ServerInterceptors.intercept(statuses.getHealthService(), new LookFirst());
  }

  /** From now on nothing is served. */
  void end() {
    looks.cancel(false);
    statuses.enterTerminalState();
  }

  /** The interceptor that looks before a call is answered, which is when its message has come. */
  private final class LookFirst implements ServerInterceptor {
    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
      return new SimpleForwardingServerCallListener<>(next.startCall(call, headers)) {
        @Override
        public void onHalfClose() {
          look();
          super.onHalfClose();
        }
      };
    }
  }
}
