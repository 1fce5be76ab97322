package io.pipelane.server.observability;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.logging.Level;

/**
 * The setting of what is logged, and how.
 *
 * @param verboseLevel 0 for nothing below information, 1 for debugging, 2 for everything
 */
public record LogSetting(
    boolean errors, boolean warnings, boolean information, int verboseLevel, Format format) {
  /** What a server does that was told nothing. */
  public static final LogSetting STANDARD = new LogSetting(true, true, true, 0, Format.STANDARD);

  private static final int MOST_VERBOSE = 2;

  /** The form of a record. */
  public enum Format {
    /** As the server was started. */
    STANDARD,
    /** A line with date, time and zone as ISO 8601 has them. */
    ISO8601
  }

  /**
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for a level that there is not
   */
  public LogSetting {
    if (verboseLevel < 0 || verboseLevel > MOST_VERBOSE) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "log_verbose_level is %d, it must be 0 to %d".formatted(verboseLevel, MOST_VERBOSE));
    }
  }

  /** Whether records of a level are written. */
  boolean admits(Level level) {
    int value = level.intValue();
    if (value >= Level.SEVERE.intValue()) {
      return errors;
    }
    if (value >= Level.WARNING.intValue()) {
      return warnings;
    }
    return value >= Level.INFO.intValue()
        ? information
        : value >= leastVerbose().intValue() && verboseLevel > 0;
  }

  /** The lowest level of what the server's own classes log. */
  Level leastVerbose() {
    return switch (verboseLevel) {
      case 0 -> Level.INFO;
      case 1 -> Level.FINE;
      default -> Level.ALL;
    };
  }
}
