package io.pipelane.config;

import java.io.Serial;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An error with a {@link Status}; its message names what was wrong, the value, the limit, and what
 * to do.
 */
public final class StatusException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  private static final Duration SOON = Duration.ofSeconds(1);

  private final Status status;
  private final @Nullable Duration retryAfter;

  public StatusException(Status status, String message) {
    this(status, message, null, null);
  }

  public StatusException(Status status, String message, Throwable cause) {
    this(status, message, null, cause);
  }

  private StatusException(
      Status status, String message, @Nullable Duration retryAfter, @Nullable Throwable cause) {
    super(message, cause);
    this.status = Objects.requireNonNull(status);
    this.retryAfter = retryAfter;
  }

  /**
   * An {@link Status#UNAVAILABLE} error of what may be over soon: it says that trying again makes
   * sense in a second.
   */
  public static StatusException unavailable(String message) {
    return unavailable(message, SOON);
  }

  /** The same, with what has led to it. */
  public static StatusException unavailable(String message, Throwable cause) {
    return unavailable(message, SOON, cause);
  }

  /** An {@link Status#UNAVAILABLE} error that says when trying again makes sense. */
  public static StatusException unavailable(String message, Duration retryAfter) {
    return new StatusException(Status.UNAVAILABLE, message, retryAfter, null);
  }

  /** The same, with what has led to it. */
  public static StatusException unavailable(String message, Duration retryAfter, Throwable cause) {
    return new StatusException(Status.UNAVAILABLE, message, retryAfter, cause);
  }

  /**
   * The {@link Status#UNAVAILABLE} error of a server that stops: it takes nothing more, and another
   * one may be there soon.
   */
  public static StatusException shuttingDown() {
    return unavailable("the server is shutting down");
  }

  /** A {@link Status#RATE_LIMITED} error that says when the next request may come. */
  public static StatusException rateLimited(String message, Duration retryAfter) {
    return new StatusException(Status.RATE_LIMITED, message, retryAfter, null);
  }

  /** The same in other words, with this one as what has led to it. */
  public StatusException saying(String other) {
    return new StatusException(status, other, retryAfter, this);
  }

  public Status status() {
    return status;
  }

  /** How long the caller should wait before it tries again, where that is known. */
  public @Nullable Duration retryAfter() {
    return retryAfter;
  }
}
