package io.pipelane.loadgen.grpc;

import io.grpc.Status;

/** The HTTP status that stands for each of gRPC's codes. */
final class HttpStatus {
  private HttpStatus() {}

  static int of(Status.Code code) {
    return switch (code) {
      case OK -> 200;
      case INVALID_ARGUMENT, FAILED_PRECONDITION, OUT_OF_RANGE -> 400;
      case UNAUTHENTICATED -> 401;
      case PERMISSION_DENIED -> 403;
      case NOT_FOUND -> 404;
      case ABORTED, ALREADY_EXISTS -> 409;
      case RESOURCE_EXHAUSTED -> 429;
      case CANCELLED -> 499;
      case UNIMPLEMENTED -> 501;
      case UNAVAILABLE -> 503;
      case DEADLINE_EXCEEDED -> 504;
      case UNKNOWN, INTERNAL, DATA_LOSS -> 500;
    };
  }
}
