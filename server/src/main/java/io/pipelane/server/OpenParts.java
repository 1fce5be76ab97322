package io.pipelane.server;

import java.util.ArrayDeque;
import java.util.Deque;

/** Parts that were opened one upon the other; closed latest first. Used by one thread. */
public final class OpenParts implements AutoCloseable {
  private final Deque<AutoCloseable> parts = new ArrayDeque<>();

  /** Adds a part, and answers it. */
  public <T extends AutoCloseable> T add(T part) {
    parts.push(part);
    return part;
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
