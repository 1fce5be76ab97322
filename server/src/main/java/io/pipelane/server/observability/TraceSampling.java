package io.pipelane.server.observability;

import io.pipelane.server.observability.TraceSetting.Level;
import java.util.concurrent.atomic.AtomicLong;

/** A setting, and how many requests it has seen and may still trace. Safe for any thread. */
final class TraceSampling {
  private final TraceSetting setting;
  private final AtomicLong seen = new AtomicLong();
  private final AtomicLong left;

  TraceSampling(TraceSetting setting) {
    this.setting = setting;
    this.left = new AtomicLong(setting.count());
  }

  /** The setting, with the count that is left. */
  TraceSetting now() {
    return new TraceSetting(setting.level(), setting.rate(), left.get());
  }

  /** Counts a request, and says whether it is one of those that may be traced. */
  boolean isDue() {
    return setting.level() != Level.OFF
        && left.get() != 0
        && seen.getAndIncrement() % setting.rate() == 0;
  }

  /** Takes one of the count for a request that is traced; false where none is left. */
  boolean take() {
    return setting.count() == TraceSetting.UNLIMITED
        || left.getAndUpdate(rest -> Math.max(0, rest - 1)) > 0;
  }
}
