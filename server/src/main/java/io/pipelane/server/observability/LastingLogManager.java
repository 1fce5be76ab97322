package io.pipelane.server.observability;

import java.util.logging.LogManager;
import java.util.logging.Logger;

/**
 * A manager of logs that has what is logged while a server drains written, too. Java's own takes
 * the handlers away as soon as a process is told to end, beside whoever finishes work then. The
 * property {@code java.util.logging.manager} names it. Safe for any thread.
 */
public final class LastingLogManager extends LogManager {
  private volatile boolean kept;

  /** For {@link LogManager}, which makes the one of a process. */
  public LastingLogManager() {}

  /** Whether the handlers outlast the moment in which the process is told to end. */
  public static void keep(boolean kept) {
    if (LogManager.getLogManager() instanceof LastingLogManager manager) {
      manager.kept = kept;
      Logger.getLogger("").getHandlers(); // Java makes none any more once the process ends.
    }
  }

  /** Takes the handlers away, kept or not, and closes what they write to. */
  public static void end() {
    keep(false);
    LogManager.getLogManager().reset();
  }

  @Override
  public void reset() {
    if (!kept) {
      super.reset();
    }
  }
}
