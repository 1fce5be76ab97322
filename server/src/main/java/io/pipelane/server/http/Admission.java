package io.pipelane.server.http;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.pipelane.config.StatusException;
import org.jspecify.annotations.Nullable;

/** Decides from a request's head whether its body is wanted. Belongs to one connection. */
final class Admission {
  private final int maxRequestBytes;
  private @Nullable String latestTarget;
  private @Nullable Route latestRoute;

  /**
   * @param maxRequestBytes largest body
   */
  Admission(int maxRequestBytes) {
    this.maxRequestBytes = maxRequestBytes;
  }

  /** What is decided. */
  sealed interface Verdict {}

  /** The body is wanted. */
  record Admitted(Route route) implements Verdict {}

  /**
   * It is not.
   *
   * @param keeps whether the connection may go on once a short body has passed by
   */
  record Refused(Response response, boolean keeps) implements Verdict {}

  Verdict judge(RequestHead head, ByteBufAllocator allocator) {
    try {
      Route route = route(head.target());
      if (!route.allows(head.method())) {
        return new Refused(Response.methodNotAllowed(allocator, route.allowed()), true);
      }
      if (head.expectation() != null && !head.expectsContinue()) {
        return new Refused(
            Response.error(
                HttpResponseStatus.EXPECTATION_FAILED,
                allocator,
                "Expect \"" + UriPath.shorten(head.expectation()) + "\" is not understood"),
            false);
      }
      String unknownEncoding = head.unknownEncoding();
      if (unknownEncoding != null) {
        return new Refused(Response.encodingUnknown(allocator, unknownEncoding), true);
      }
      head.checkBody(maxRequestBytes);
      return new Admitted(route);
    } catch (StatusException e) {
      return new Refused(Response.error(e, allocator), true);
    }
  }

  private Route route(String target) {
    if (latestRoute == null || !target.equals(latestTarget)) {
      latestRoute = Route.of(target);
      latestTarget = target;
    }
    return latestRoute;
  }
}
