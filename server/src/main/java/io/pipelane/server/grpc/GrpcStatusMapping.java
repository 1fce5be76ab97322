package io.pipelane.server.grpc;

import io.grpc.Metadata;
import io.grpc.Status.Code;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.time.Duration;

/** The one table from {@link Status} to gRPC. */
final class GrpcStatusMapping {
  /** The field that clients' retry policies heed. */
  private static final Metadata.Key<String> RETRY_AFTER_MILLIS =
      Metadata.Key.of("grpc-retry-pushback-ms", Metadata.ASCII_STRING_MARSHALLER);

  private GrpcStatusMapping() {}

  static Code of(Status status) {
    return switch (status) {
      case INVALID_ARGUMENT -> Code.INVALID_ARGUMENT;
      case UNAUTHENTICATED -> Code.UNAUTHENTICATED;
      case PERMISSION_DENIED -> Code.PERMISSION_DENIED;
      case NOT_FOUND -> Code.NOT_FOUND;
      case TOO_LARGE, INSUFFICIENT_MEMORY, RATE_LIMITED -> Code.RESOURCE_EXHAUSTED;
      case UNAVAILABLE -> Code.UNAVAILABLE;
      case DEADLINE_EXCEEDED -> Code.DEADLINE_EXCEEDED;
      case CANCELLED -> Code.CANCELLED;
      case UNIMPLEMENTED -> Code.UNIMPLEMENTED;
      case DEVICE_FAILURE, INTERNAL -> Code.INTERNAL;
    };
  }

  static io.grpc.Status status(StatusException error) {
    String message = error.getMessage();
    return of(error.status())
        .toStatus()
        .withDescription(message == null ? error.status().name() : message)
        .withCause(error);
  }

  static Metadata trailers(StatusException error) {
    Metadata trailers = new Metadata();
    Duration retryAfter = error.retryAfter();
    if (retryAfter != null) {
      trailers.put(RETRY_AFTER_MILLIS, Long.toString(Math.max(1, retryAfter.toMillis())));
    }
    return trailers;
  }
}
