package io.pipelane.server.access;

import io.pipelane.config.StatusException;
import org.jspecify.annotations.Nullable;

/** A value that is read again while the server runs. The value may be read by any thread. */
public interface Watched<T> {
  /** What it said when it was last right; null before that. */
  @Nullable T value();

  /**
   * Reads it now if it may have changed, and waits for that.
   *
   * @throws StatusException when it is wrong, or cannot be read
   */
  void look();

  /** Reads it if it may have changed; does not wait for others; what is wrong is logged. */
  void lookAgain();

  /**
   * Somebody speaks of what it does not hold yet: reads it before its time, where that time is
   * long. Never waits.
   */
  default void lookSooner() {}
}
