package io.pipelane.server.grpc;

import io.grpc.Metadata;
import io.grpc.Status.Code;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.protocol.QuotedText;
import java.time.Duration;

/** The one table from {@link Status} to gRPC. */
final class GrpcStatusMapping {
  /** The field that clients' retry policies heed. */
  private static final Metadata.Key<String> RETRY_AFTER_MILLIS =
      Metadata.Key.of("grpc-retry-pushback-ms", Metadata.ASCII_STRING_MARSHALLER);

  /** Bytes that a text may take in a header: clients of Java take 8 KiB of headers in all. */
  private static final int LONGEST_TEXT = 4 << 10;

  /** Bytes that a character may take there: those of UTF-8, each in hexadecimal digits. */
  private static final int LONGEST_CHARACTER = 9;

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
    return of(error.status()).toStatus().withDescription(text(error)).withCause(error);
  }

  /** What is said of an error, as much of it as every client takes. */
  static String text(StatusException error) {
    String message = error.getMessage();
    if (message == null) {
      return error.status().name();
    }
    int length = 0;
    for (int bytes = 0; length < message.length() && bytes < LONGEST_TEXT; length++) {
      char character = message.charAt(length);
      boolean isPlain = character >= ' ' && character <= '~' && character != '%';
      bytes += isPlain ? 1 : LONGEST_CHARACTER;
    }
    return QuotedText.shorten(message, length);
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
