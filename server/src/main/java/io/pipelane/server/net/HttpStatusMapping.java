package io.pipelane.server.net;

import io.netty.handler.codec.http.HttpResponseStatus;
import io.pipelane.config.Status;
import java.util.Arrays;

/** The one table from {@link Status} to HTTP. */
public final class HttpStatusMapping {
  private static final HttpResponseStatus CLIENT_CLOSED_REQUEST =
      HttpResponseStatus.valueOf(499, "Client Closed Request");

  private HttpStatusMapping() {}

  public static HttpResponseStatus of(Status status) {
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

  /**
   * What another server's answer says: the table read backwards, {@link Status#INTERNAL} for what
   * is not in it.
   */
  public static Status from(HttpResponseStatus answered) {
    if (answered.equals(HttpResponseStatus.INTERNAL_SERVER_ERROR)) {
      return Status.INTERNAL; // It may have been the device.
    }
    return Arrays.stream(Status.values())
        .filter(status -> of(status).equals(answered))
        .findFirst()
        .orElse(Status.INTERNAL);
  }
}
