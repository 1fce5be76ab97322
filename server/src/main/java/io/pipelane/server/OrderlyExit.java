package io.pipelane.server;

import io.pipelane.lanes.cuda.driver.ContextsAtExit;
import io.pipelane.server.device.OpenParts;
import io.pipelane.server.observability.LastingLogManager;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The exit of a process that is told to stop. A start ends with the part that is being opened; a
 * server that is there finishes its requests. Then everything is given back, and the process exits
 * as {@link PipelaneServer#run} says, whatever status it was to exit with. Safe for any thread.
 */
final class OrderlyExit {
  private static final System.Logger LOG = System.getLogger(OrderlyExit.class.getName());

  /** Of a drain beyond its time, in which jobs and devices end. */
  private static final Duration LONGEST_OVERRUN = Duration.ofSeconds(5);

  private static final Duration LONGEST_CLOSE = Duration.ofSeconds(5);
  private static final Duration LONGEST_LAST_WORDS = Duration.ofSeconds(1);

  private final OpenParts parts;
  private final Duration patience;
  private final Thread hook;

  /** Empty when the server could not start; its parts are closed then. */
  private final CompletableFuture<Optional<PipelaneServer>> start = new CompletableFuture<>();

  private OrderlyExit(OpenParts parts, Duration patience) {
    this.parts = parts;
    this.patience = patience;
    this.hook = Thread.ofPlatform().unstarted(this::exit);
  }

  /**
   * From now on the process ends so.
   *
   * @param parts of a server that starts
   * @param patience how long a start may take to end, and requests of a server that is there
   */
  static OrderlyExit from(OpenParts parts, Duration patience) {
    OrderlyExit exit = new OrderlyExit(parts, patience);
    ContextsAtExit.ofProcess().leaveToOwner();
    LastingLogManager.keep(true);
    Runtime.getRuntime().addShutdownHook(exit.hook);
    return exit;
  }

  /** The server is there. */
  void started(PipelaneServer server) {
    start.complete(Optional.of(server));
  }

  /**
   * There will be no server, and its parts are closed.
   *
   * @return whether the process has been told to stop, and is about to exit; otherwise it ends as
   *     any other from now on
   */
  boolean startFailed() {
    start.complete(Optional.empty());
    try {
      boolean stopped = !Runtime.getRuntime().removeShutdownHook(hook);
      LastingLogManager.keep(stopped);
      return stopped;
    } catch (IllegalStateException e) {
      return true; // As the process is ending.
    }
  }

  /** A shutdown hook cannot return an exit status otherwise. */
  private void exit() {
    boolean finished = false;
    long begin = System.nanoTime();
    try {
      inLog(() -> LOG.log(Level.INFO, "told to stop: what runs may end, what waits is refused"));
      parts.stop();
      finished = leave();
      double seconds = (System.nanoTime() - begin) / 1e9;
      endLog(() -> LOG.log(Level.INFO, "stopped after %.1f s".formatted(seconds)));
    } catch (RuntimeException | Error e) {
      endLog(() -> LOG.log(Level.ERROR, "the process does not end in order", e));
    } finally {
      Runtime.getRuntime().halt(finished ? 0 : 1);
    }
  }

  private static void endLog(Runnable lastWords) {
    inLog(
        () -> {
          lastWords.run();
          LastingLogManager.end();
        });
  }

  /** A log may go where nobody reads: it is not waited for then. */
  private static void inLog(Runnable words) {
    awaitInBackground("pipelane-log", words, LONGEST_LAST_WORDS);
  }

  private boolean leave() {
    try {
      Optional<PipelaneServer> server = start.get(patience.toNanos(), TimeUnit.NANOSECONDS);
      try {
        return server.isEmpty() || drain(server.get());
      } finally {
        // Devices and processes are left in order (MuxFlow §4.2), unless that takes too long. Runs
        // that are left over end at their next gate: nobody waits for them.
        awaitInBackground("pipelane-close", parts::close, LONGEST_CLOSE);
      }
    } catch (InterruptedException | ExecutionException | TimeoutException e) {
      return false;
    }
  }

  /** It ends by itself in time, unless it writes to a log that nobody reads. */
  private boolean drain(PipelaneServer server) throws InterruptedException, TimeoutException {
    FutureTask<Boolean> drain = new FutureTask<>(server::drain);
    Thread _ = Thread.ofPlatform().daemon().name("pipelane-drain").start(drain);
    try {
      return drain.get(patience.plus(LONGEST_OVERRUN).toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw new IllegalStateException("the server did not finish its requests", e.getCause());
    }
  }

  private static void awaitInBackground(String name, Runnable action, Duration longest) {
    Thread thread = Thread.ofPlatform().daemon().name(name).start(action);
    try {
      boolean _ = thread.join(longest);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
