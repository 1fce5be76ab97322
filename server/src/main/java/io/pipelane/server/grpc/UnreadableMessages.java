package io.pipelane.server.grpc;

import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;

/**
 * The interceptor that ends calls whose messages cannot be read, as their clients' mistake. gRPC
 * itself ends them as a fault of the server, and logs it.
 */
final class UnreadableMessages implements ServerInterceptor {
  private UnreadableMessages() {}

  /**
   * A service whose messages are read behind the interceptor, which thus learns of those that
   * cannot be.
   */
  static ServerServiceDefinition refusedBy(ServerServiceDefinition service) {
    return ServerInterceptors.intercept(
        ServerInterceptors.useInputStreamMessages(service), new UnreadableMessages());
  }

  /**
   * What is said of a message: {@link Status#TOO_LARGE}, else {@link Status#INVALID_ARGUMENT}.
   *
   * @param thrown as it was read
   */
  static StatusException refusal(StatusRuntimeException thrown) {
    String reason = thrown.getStatus().getDescription();
    return thrown.getStatus().getCode() == Code.RESOURCE_EXHAUSTED && reason != null
        ? new StatusException(Status.TOO_LARGE, reason, thrown)
        : noMessage(thrown);
  }

  /**
   * The same of what could not even be looked through.
   *
   * @param thrown as that was tried
   */
  static StatusException refusal(IOException thrown) {
    return noMessage(thrown);
  }

  private static StatusException noMessage(Exception thrown) {
    return new StatusException(
        Status.INVALID_ARGUMENT,
        "the message is not of protocol buffers, or of another type",
        thrown);
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    return new SimpleForwardingServerCallListener<>(next.startCall(call, headers)) {
      private boolean refused;

      @Override
      public void onMessage(Q message) {
        if (refused) {
          return;
        }
        try {
          super.onMessage(message);
        } catch (StatusRuntimeException e) {
          refused = true;
          StatusException refusal = refusal(e);
          call.close(GrpcStatusMapping.status(refusal), GrpcStatusMapping.trailers(refusal));
        }
      }

      @Override
      public void onHalfClose() {
        if (!refused) {
          super.onHalfClose();
        }
      }
    };
  }
}
