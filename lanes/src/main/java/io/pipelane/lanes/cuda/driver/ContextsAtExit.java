package io.pipelane.lanes.cuda.driver;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The contexts of this process, which are given back when it ends (SIGTERM, SIGINT) unless somebody
 * else sees to that (MuxFlow §4.2). Nothing is launched any more, what has been launched is
 * finished, then the contexts are released. Safe for any thread.
 */
public final class ContextsAtExit {
  private static final System.Logger LOG = System.getLogger(ContextsAtExit.class.getName());

  /** A device that does not get done keeps nobody for longer. */
  private static final Duration LONGEST = Duration.ofSeconds(2);

  private static final ContextsAtExit OF_PROCESS =
      new ContextsAtExit(Runtime.getRuntime()::addShutdownHook, LONGEST);

  private final Consumer<Thread> hooks;
  private final Duration longest;
  private final Set<Held> open = Collections.newSetFromMap(new IdentityHashMap<>());
  private boolean hooked;
  private boolean leftToOwner;
  private volatile boolean ending;

  /** A context that is open. */
  interface Held {
    /** Waits for what has been launched in it. */
    void finish();

    /** Gives it back, whoever uses it. */
    void release();
  }

  /**
   * Contexts of a process.
   *
   * @param hooks takes what is run at its end
   * @param longest how long that may take
   */
  ContextsAtExit(Consumer<Thread> hooks, Duration longest) {
    this.hooks = hooks;
    this.longest = longest;
  }

  /** Those of this process. */
  public static ContextsAtExit ofProcess() {
    return OF_PROCESS;
  }

  /** From now on who has opened contexts closes them before the process ends, in their order. */
  public synchronized void leaveToOwner() {
    leftToOwner = true;
  }

  synchronized void opened(Held context) {
    requireGoesOn();
    open.add(context);
    if (!hooked) {
      hooked = true;
      hooks.accept(Thread.ofPlatform().name("contexts-at-exit").unstarted(this::end));
    }
  }

  synchronized void closed(Held context) {
    open.remove(context);
  }

  /**
   * Lets work begin.
   *
   * @throws StatusException {@link Status#CANCELLED} once the process ends
   */
  void requireGoesOn() {
    if (ending) {
      throw new StatusException(Status.CANCELLED, "the process is about to end");
    }
  }

  private void end() {
    List<Held> left = takeOpen();
    if (left.isEmpty()) {
      return;
    }
    Thread ends =
        Thread.ofPlatform()
            .daemon()
            .name("contexts-end")
            .start(
                () -> {
                  left.forEach(context -> attempt(context::finish));
                  left.forEach(context -> attempt(context::release));
                });
    try {
      boolean _ = ends.join(longest);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void attempt(Runnable step) {
    try {
      step.run();
    } catch (CudaException e) {
      LOG.log(Level.DEBUG, "a device is lost as the process ends", e);
    }
  }

  private synchronized List<Held> takeOpen() {
    ending = !leftToOwner && !open.isEmpty();
    return ending ? new ArrayList<>(open) : List.of();
  }
}
