package io.pipelane.lanes;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;

/**
 * Resources that have been taken, given back in reverse order; one failure does not keep the
 * others.
 */
public final class Releases implements AutoCloseable {
  private final Deque<Runnable> releases = new ArrayDeque<>();

  /** Something that is closed when this is. */
  public <T extends AutoCloseable> T add(T taken) {
    return add(taken, Releases::close);
  }

  /** Something that is given back when this is closed. */
  public <T> T add(T taken, Consumer<? super T> release) {
    releases.push(() -> release.accept(taken));
    return taken;
  }

  /** Forgets everything: it has found an owner. */
  public void keep() {
    releases.clear();
  }

  @Override
  public void close() {
    Throwable failure = null;
    while (!releases.isEmpty()) {
      try {
        releases.pop().run();
      } catch (RuntimeException | Error e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    switch (failure) {
      case RuntimeException e -> throw e;
      case Error e -> throw e;
      case null, default -> {}
    }
  }

  private static void close(AutoCloseable taken) {
    try {
      taken.close();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
