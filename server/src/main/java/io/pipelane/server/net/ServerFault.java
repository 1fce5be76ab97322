package io.pipelane.server.net;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.concurrent.CompletionException;

/** A fault that nothing foresaw: logged in full, answered without its inner details. */
public final class ServerFault {
  private static final System.Logger LOG = System.getLogger(ServerFault.class.getName());

  private ServerFault() {}

  /** Logs a request's failure, and says what is answered. */
  public static StatusException of(Throwable cause) {
    LOG.log(System.Logger.Level.ERROR, "a request failed on a fault of the server", cause);
    return new StatusException(
        Status.INTERNAL, "a fault of the server (" + cause.getClass().getSimpleName() + ")", cause);
  }

  /** Why an operation has failed: what it says itself, or else a fault, which is logged. */
  public static StatusException unlessSaid(Throwable error) {
    Throwable cause =
        error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    return cause instanceof StatusException said ? said : of(cause);
  }
}
