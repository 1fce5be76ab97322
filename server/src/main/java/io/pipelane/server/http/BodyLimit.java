package io.pipelane.server.http;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;

/**
 * How large a body may be, packed or not.
 *
 * @param name what it is called where it is changed
 */
record BodyLimit(int bytes, String name) {
  /** Of requests that say a little, and are read on event loops. */
  private static final int FEW_BYTES = 256 << 10;

  /** Of requests whose body nobody reads. */
  private static final int UNREAD_BYTES = 4 << 10;

  private static final String OF_PATH = "a body may be here";

  /** Of a request that is not admitted. */
  static final BodyLimit NONE = new BodyLimit(0, OF_PATH);

  /** What a route takes of the server's limit. */
  static BodyLimit of(Route route, int maxRequestBytes) {
    return switch (route) {
      case Route.Infer _, Route.Load _, Route.SubmitJob _, Route.Upload _ ->
          new BodyLimit(maxRequestBytes, "server.max-request-size");
      case Route.Index _,
          Route.Unload _,
          Route.ChangeTraceSettings _,
          Route.ChangeLogSettings _,
          Route.RegisterSharedMemory _ ->
          new BodyLimit(Math.min(FEW_BYTES, maxRequestBytes), OF_PATH);
      default -> new BodyLimit(Math.min(UNREAD_BYTES, maxRequestBytes), OF_PATH);
    };
  }

  /**
   * Checks what can be checked before a body has come.
   *
   * @throws StatusException {@link Status#TOO_LARGE} for one beyond the limit
   */
  void check(RequestHead head) {
    if (head.contentLength() > bytes) {
      throw tooLarge("the body of " + head.contentLength() + " bytes is");
    }
  }

  StatusException tooLarge(String what) {
    return new StatusException(
        Status.TOO_LARGE, what + " larger than " + name + ", " + bytes + " bytes");
  }
}
