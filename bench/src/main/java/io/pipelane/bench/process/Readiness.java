package io.pipelane.bench.process;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.PipelaneServer;
import io.pipelane.server.catalog.ModelCatalog;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The wait until a server in this process has prepared its models. */
public final class Readiness {
  private static final long LIMIT_MINUTES = 10;

  private Readiness() {}

  /**
   * Waits until every model is READY.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when one was refused
   */
  public static void await(PipelaneServer server) throws InterruptedException {
    List<ModelCatalog.Entry> refused = refused(server);
    if (!refused.isEmpty()) {
      throw new StatusException(Status.UNAVAILABLE, "not READY: " + refused.getFirst());
    }
  }

  /** Waits until every model is READY or has been refused; those that have. */
  public static List<ModelCatalog.Entry> refused(PipelaneServer server)
      throws InterruptedException {
    try {
      server.imports().get(LIMIT_MINUTES, TimeUnit.MINUTES);
    } catch (ExecutionException | TimeoutException e) {
      throw new StatusException(Status.UNAVAILABLE, "the imports did not end: " + e, e);
    }
    return server.catalog().index().stream()
        .filter(entry -> entry.state() != ModelCatalog.State.READY)
        .toList();
  }
}
