package io.pipelane.loadgen.settings;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The length of a test and of its parts.
 *
 * @param warmup requests meant to leave in this time, at the beginning, are not measured
 * @param length of the measured window; sending ends with it
 * @param requestLimit measured requests after which sending ends earlier
 * @param responseTimeout a request unanswered for so long counts as an error, and its connection is
 *     closed
 * @param stability makes {@code length} that of one of several windows; without it there is one,
 *     which lasts for a time
 */
public record Window(
    Span warmup,
    Span length,
    long requestLimit,
    Duration responseTimeout,
    @Nullable Stability stability) {
  /** The longest a test may take. */
  public static final Duration MAXIMUM = Duration.ofDays(7);

  private static final Duration RESPONSE_TIMEOUT = Duration.ofSeconds(30);

  public Window {
    if (warmup instanceof Span.Time time) {
      requireWithin("warmup", time.duration(), Duration.ZERO);
    }
    switch (length) {
      case Span.Time time -> requireWithin("duration", time.duration(), Duration.ofMillis(1));
      case Span.Requests requests -> {
        if (stability == null) {
          throw new IllegalArgumentException(
              "a single window lasts for a time, not for " + requests);
        }
      }
    }
    requireWithin("timeout", responseTimeout, Duration.ofMillis(1));
    if (requestLimit < 1) {
      throw new IllegalArgumentException(
          "the number of requests must be positive: " + requestLimit);
    }
  }

  /** Windows that last for a time, behind a warm-up that does. */
  public Window(
      Duration warmup,
      Duration duration,
      long requestLimit,
      Duration responseTimeout,
      @Nullable Stability stability) {
    this(new Span.Time(warmup), new Span.Time(duration), requestLimit, responseTimeout, stability);
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
          "%s must be between %s and %s: %s"
              .formatted(name, Span.seconds(minimum), Span.seconds(MAXIMUM), Span.seconds(value)));
    }
  }
}
