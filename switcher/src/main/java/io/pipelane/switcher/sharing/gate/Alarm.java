package io.pipelane.switcher.sharing.gate;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** An alarm clock: has something done when a time is over, on any thread. */
@FunctionalInterface
public interface Alarm {
  /** By the system's clock. */
  Alarm SYSTEM =
      (nanos, action) ->
          CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS).execute(action);

  /** Has it done after so long; returns at once. */
  void after(long nanos, Runnable action);
}
