package io.pipelane.server.http;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;

/** A fault that nothing foresaw: logged in full, answered without its inner details. */
final class ServerFault {
  private static final System.Logger LOG = System.getLogger(ServerFault.class.getName());

  private ServerFault() {}

  /** Logs a request's failure, and says what is answered. */
  static StatusException of(Throwable cause) {
    LOG.log(System.Logger.Level.ERROR, "a request failed on a fault of the server", cause);
    return new StatusException(
        Status.INTERNAL, "a fault of the server (" + cause.getClass().getSimpleName() + ")", cause);
  }
}
