package io.pipelane.server.device;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Parts that were opened one upon the other; closed latest first. Used by one thread at a time, but
 * for {@link #stop}.
 */
public final class OpenParts implements AutoCloseable {
  private final Deque<AutoCloseable> parts = new ArrayDeque<>();
  private volatile boolean stopped;

  /**
   * Adds a part, and answers it.
   *
   * @throws StatusException {@link Status#CANCELLED} after {@link #stop}; the part is among those
   *     to be closed then
   */
  public <T extends AutoCloseable> T add(T part) {
    parts.push(part);
    if (stopped) {
      throw new StatusException(Status.CANCELLED, "the server was told to stop while it started");
    }
    return part;
  }

  /** Has who opens parts open no more after the next one; any thread may say so. */
  public void stop() {
    stopped = true;
  }

  public boolean isEmpty() {
    return parts.isEmpty();
  }

  /** Closes everything because of a failure, which is told what cannot be closed. */
  public void closeAfter(Throwable failure) {
    try {
      close();
    } catch (RuntimeException second) {
      failure.addSuppressed(second);
    }
  }

  /** Stops at the first part that cannot be closed: those below it may still be in use. */
  @Override
  public void close() {
    for (AutoCloseable part = parts.peek(); part != null; part = parts.peek()) {
      try {
        part.close();
      } catch (RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IllegalStateException("a part of the server cannot be closed", e);
      }
      parts.remove();
    }
  }
}
