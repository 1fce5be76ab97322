package io.pipelane.loadgen.settings;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How long a test lasts.
 *
 * @param warmup requests meant to leave in this time, at the beginning, are not measured
 * @param duration of the measured window; sending ends with it
 * @param requestLimit measured requests after which sending ends earlier
 * @param responseTimeout a request unanswered for so long counts as an error, and its connection is
 *     closed
 * @param stability makes {@code duration} that of one of several windows; without it there is one
 */
public record Window(
    Duration warmup,
    Duration duration,
    long requestLimit,
    Duration responseTimeout,
    @Nullable Stability stability) {
  /** The longest a test may take. */
  public static final Duration MAXIMUM = Duration.ofDays(7);

  private static final Duration RESPONSE_TIMEOUT = Duration.ofSeconds(30);

  public Window {
    requireWithin("warmup", warmup, Duration.ZERO);
    requireWithin("duration", duration, Duration.ofMillis(1));
    requireWithin("timeout", responseTimeout, Duration.ofMillis(1));
    if (requestLimit < 1) {
      throw new IllegalArgumentException(
          "the number of requests must be positive: " + requestLimit);
    }
  }

  /** One window of a given length. */
  public static Window lasting(Duration warmup, Duration duration) {
    return new Window(warmup, duration, Long.MAX_VALUE, RESPONSE_TIMEOUT, null);
  }

  /** A window that ends with the answer to the last of a number of requests, without warm-up. */
  public static Window ofRequests(long requests) {
    return new Window(Duration.ZERO, MAXIMUM, requests, RESPONSE_TIMEOUT, null);
  }

  /** The most windows that are measured. */
  public int maximumWindows() {
    return stability == null ? 1 : stability.maximumWindows();
  }

  private static void requireWithin(String name, Duration value, Duration minimum) {
    if (value.compareTo(minimum) < 0 || value.compareTo(MAXIMUM) > 0) {
      throw new IllegalArgumentException(
          name + " must be between " + minimum + " and " + MAXIMUM + ": " + value);
    }
  }
}
