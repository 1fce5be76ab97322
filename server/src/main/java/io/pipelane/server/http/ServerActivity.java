package io.pipelane.server.http;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The count of requests being answered, which says when the last one is done after the server has
 * begun to drain. Safe for any thread.
 *
 * <p>A request counts itself before it looks at {@link #isDraining}, and draining begins before the
 * count is looked at: so either the request sees the draining or the draining sees the request.
 */
final class ServerActivity {
  private final AtomicInteger running = new AtomicInteger();
  private final CompletableFuture<Void> idle = new CompletableFuture<>();
  private volatile boolean draining;

  /**
   * Counts one more request.
   *
   * @return false, counting nothing, when the server drains
   */
  boolean begin() {
    running.incrementAndGet();
    if (draining) {
      end();
      return false;
    }
    return true;
  }

  /** One request that was counted has been answered, or its client has gone. */
  void end() {
    if (running.decrementAndGet() == 0 && draining) {
      idle.complete(null);
    }
  }

  /** How many are being answered. */
  int running() {
    return running.get();
  }

  boolean isDraining() {
    return draining;
  }

  /**
   * Lets no more requests begin.
   *
   * @return completes when those that have begun are done
   */
  CompletableFuture<Void> drain() {
    draining = true;
    if (running.get() == 0) {
      idle.complete(null);
    }
    return idle;
  }
}
