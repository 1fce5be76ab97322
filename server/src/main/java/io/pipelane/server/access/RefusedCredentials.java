package io.pipelane.server.access;

import io.pipelane.config.StatusException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * The log of credentials that are refused: a line a minute at most, with how many there were. Safe
 * for any thread.
 */
final class RefusedCredentials {
  static final Duration PAUSE = Duration.ofMinutes(1);

  private static final System.Logger LOG = System.getLogger(RefusedCredentials.class.getName());

  private final LongSupplier nanoClock;
  private long untold; // guarded by this, as the next
  private long nextNanos;

  RefusedCredentials(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
    this.nextNanos = nanoClock.getAsLong();
  }

  /** One more is refused. */
  synchronized void add(StatusException refusal) {
    untold++;
    long now = nanoClock.getAsLong();
    if (now - nextNanos >= 0) {
      LOG.log(
          Level.WARNING,
          "refused credentials since this was said last: {0}; the latest: {1}",
          untold,
          refusal.getMessage());
      untold = 0;
      nextNanos = now + PAUSE.toNanos();
    }
  }
}
