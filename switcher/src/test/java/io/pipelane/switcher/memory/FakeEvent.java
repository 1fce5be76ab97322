package io.pipelane.switcher.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** An event that a test completes. */
final class FakeEvent implements DeviceEvent {
  private final CompletableFuture<Boolean> done = new CompletableFuture<>();

  void complete(@Nullable StatusException failure) {
    if (failure == null) {
      done.complete(true);
    } else {
      done.completeExceptionally(failure);
    }
  }

  @Override
  public boolean isDone() {
    return done.isDone();
  }

  @Override
  public void await() {
    try {
      done.join();
    } catch (CompletionException e) {
      throw new StatusException(Status.INTERNAL, String.valueOf(e.getCause()), e);
    }
  }

  @Override
  public void whenDone(Runnable action) {
    CompletableFuture<Boolean> _ = done.whenComplete((value, failure) -> action.run());
  }
}
