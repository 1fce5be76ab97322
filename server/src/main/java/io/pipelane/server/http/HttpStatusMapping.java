package io.pipelane.server.http;

import io.netty.handler.codec.http.HttpResponseStatus;
import io.pipelane.config.Status;

/** The one table from {@link Status} to HTTP. */
final class HttpStatusMapping {
  private static final HttpResponseStatus CLIENT_CLOSED_REQUEST =
      HttpResponseStatus.valueOf(499, "Client Closed Request");

  private HttpStatusMapping() {}

  static HttpResponseStatus of(Status status) {
    return switch (status) {
      case INVALID_ARGUMENT -> HttpResponseStatus.BAD_REQUEST;
      case UNAUTHENTICATED -> HttpResponseStatus.UNAUTHORIZED;
      case PERMISSION_DENIED -> HttpResponseStatus.FORBIDDEN;
      case RATE_LIMITED -> HttpResponseStatus.TOO_MANY_REQUESTS;
      case NOT_FOUND -> HttpResponseStatus.NOT_FOUND;
      case TOO_LARGE -> HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE;
      case UNAVAILABLE -> HttpResponseStatus.SERVICE_UNAVAILABLE;
      case INSUFFICIENT_MEMORY -> HttpResponseStatus.INSUFFICIENT_STORAGE;
      case DEADLINE_EXCEEDED -> HttpResponseStatus.GATEWAY_TIMEOUT;
      case CANCELLED -> CLIENT_CLOSED_REQUEST;
      case UNIMPLEMENTED -> HttpResponseStatus.NOT_IMPLEMENTED;
      case DEVICE_FAILURE, INTERNAL -> HttpResponseStatus.INTERNAL_SERVER_ERROR;
    };
  }
}
