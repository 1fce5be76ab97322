package io.pipelane.lanes.completion;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** An event that a thread of this process completes, once. */
public final class Completion implements DeviceEvent {
  /*
   * The state is the stack of actions to run (null when there is none), until complete() swaps in
   * an Outcome, which is final. Whoever pushes an action before the swap has it run by the
   * completing thread, whoever comes after runs it himself. A blocked thread is an action that
   * unparks it.
   */

  /** About forty microseconds: what most waits at a gate take, and a wake-up costs. */
  private static final int SPINS = 1_000;

  /** What has happened already. */
  public static final DeviceEvent DONE = done();

  private static final System.Logger LOG = System.getLogger(Completion.class.getName());

  private sealed interface State {}

  private record Waiter(Runnable action, @Nullable State next) implements State {}

  private record Outcome(@Nullable StatusException failure) implements State {}

  private final AtomicReference<@Nullable State> state = new AtomicReference<>();

  private static Completion done() {
    Completion completion = new Completion();
    completion.complete(null);
    return completion;
  }

  @Override
  public boolean isDone() {
    return state.get() instanceof Outcome;
  }

  /**
   * Completes the event and runs what waits for it, in the order of its coming; has no effect a
   * second time.
   *
   * @param reason why the work before the event failed; null when it did not
   */
  public void complete(@Nullable Throwable reason) {
    StatusException failure =
        switch (reason) {
          case null -> null;
          case StatusException e -> e;
          default -> new StatusException(Status.INTERNAL, "a copy failed: " + reason, reason);
        };
    State waiting = state.getAndUpdate(s -> s instanceof Outcome ? s : new Outcome(failure));
    Waiter first = null;
    while (waiting instanceof Waiter waiter) {
      first = new Waiter(waiter.action, first);
      waiting = waiter.next;
    }
    for (State s = first; s instanceof Waiter waiter; s = waiter.next) {
      run(waiter.action);
    }
  }

  @Override
  public void await() {
    for (int i = 0; i < SPINS && !isDone(); i++) {
      Thread.onSpinWait();
    }
    if (!isDone()) {
      park();
    }
    StatusException failure = state.get() instanceof Outcome outcome ? outcome.failure : null;
    if (failure != null) {
      throw failure.saying(String.valueOf(failure.getMessage()));
    }
  }

  @Override
  public void whenDone(Runnable action) {
    while (true) {
      State current = state.get();
      if (current instanceof Outcome) {
        run(action);
        return;
      }
      if (state.compareAndSet(current, new Waiter(action, current))) {
        return;
      }
    }
  }

  private void park() {
    Thread thread = Thread.currentThread();
    whenDone(() -> LockSupport.unpark(thread));
    boolean interrupted = false;
    while (!isDone()) {
      LockSupport.park(this);
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      thread.interrupt();
    }
  }

  private static void run(Runnable action) {
    try {
      action.run();
    } catch (Throwable e) { // The copy engine's only thread must live on.
      LOG.log(System.Logger.Level.ERROR, "an action after a device event failed", e);
    }
  }
}
