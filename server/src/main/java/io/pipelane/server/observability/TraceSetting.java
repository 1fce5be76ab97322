package io.pipelane.server.observability;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;

/**
 * The setting of which requests are traced.
 *
 * @param rate one request in so many, 1 or more
 * @param count how many more at most, 0 or more; {@link #UNLIMITED} for no end
 */
public record TraceSetting(Level level, int rate, long count) {
  public static final long UNLIMITED = -1;

  /** Nothing, until somebody asks for it. */
  public static final TraceSetting OFF = new TraceSetting(Level.OFF, 1000, UNLIMITED);

  /** The detail of a trace. */
  public enum Level {
    /** There is none. */
    OFF,
    /** When each step of a request began and ended. */
    TIMESTAMPS
  }

  /**
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for a rate or count out of range
   */
  public TraceSetting {
    if (rate < 1) {
      throw invalid("trace_rate is " + rate + ", it must be 1 or more: one request in so many");
    }
    if (count < UNLIMITED) {
      throw invalid("trace_count is " + count + ", it must be 0 or more, or -1 for no end");
    }
  }

  private static StatusException invalid(String message) {
    return new StatusException(Status.INVALID_ARGUMENT, message);
  }
}
