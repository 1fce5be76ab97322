package io.pipelane.server;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;

/** A server from its start to its end. */
public final class PipelaneServer {
  private PipelaneServer() {}

  /**
   * Serves until the process is told to stop.
   *
   * @throws StatusException when it cannot start
   */
  @SuppressWarnings("DoNotCallSuggester")
  public static void run(PipelaneConfig config) {
    throw new StatusException(
        Status.UNIMPLEMENTED, "this build cannot serve on " + config.device().kind());
  }
}
