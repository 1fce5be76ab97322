package io.pipelane.server.ensemble;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.System.Logger.Level;
import java.util.concurrent.Semaphore;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A request for an ensemble that spans devices: waits on a thread of its own until all of it is
 * switched in, and is run as other ensembles' then. Safe for any thread.
 */
final class SpanningRun implements Ticket {
  private static final System.Logger LOG = System.getLogger(SpanningRun.class.getName());

  private final InferenceRequest request;
  private final ResultHandler handler;
  private @Nullable EnsembleRun run;
  private boolean cancelled;

  private SpanningRun(InferenceRequest request, ResultHandler handler) {
    this.request = request;
    this.handler = handler;
  }

  /**
   * Starts a request; returns at once.
   *
   * @param switchIn see {@link io.pipelane.switcher.SpanningModels#switchIn}
   * @param steps held until the handler is told the end
   * @param bound of requests that wait or run
   * @param runs makes a run that has not begun, given its steps and what is told its end
   * @throws StatusException {@link Status#UNAVAILABLE} when there are too many; the handler is not
   *     called then
   */
  static Ticket start(
      Supplier<Hold> switchIn,
      HeldSteps steps,
      InferenceRequest request,
      ResultHandler handler,
      Semaphore bound,
      BiFunction<HeldSteps, ResultHandler, EnsembleRun> runs) {
    if (!bound.tryAcquire()) {
      throw StatusException.unavailable(
          "too many requests for ensembles that span devices are under way; try again");
    }
    SpanningRun spanning =
        new SpanningRun(request, handler.andThen(steps::close).andThen(bound::release));
    Thread.ofVirtual().name("switch-in").start(() -> spanning.run(switchIn, steps, runs));
    return spanning;
  }

  private void run(
      Supplier<Hold> switchIn,
      HeldSteps steps,
      BiFunction<HeldSteps, ResultHandler, EnsembleRun> runs) {
    long begin = System.nanoTime();
    @Nullable Hold whole = null;
    try {
      requireWanted();
      whole = switchIn.get();
      EnsembleRun next = runs.apply(steps.in(whole), handler.andThen(whole::close));
      begin(next);
      next.start(new InferenceTimings(System.nanoTime() - begin, 0, 0));
    } catch (Throwable e) {
      if (whole != null) {
        whole.close();
      }
      handler.failed(error(e));
    }
  }

  private synchronized void begin(EnsembleRun next) {
    requireWanted();
    run = next;
  }

  private synchronized void requireWanted() {
    if (cancelled) {
      throw new StatusException(Status.CANCELLED, "the caller has gone");
    }
    if (request.isLate(System.nanoTime())) {
      throw StatusException.unavailable(
          "the timeout of this request for %s passed while it waited for device memory"
              .formatted(request.model()));
    }
  }

  private StatusException error(Throwable reason) {
    if (reason instanceof StatusException known) {
      return known;
    }
    LOG.log(Level.ERROR, "switching " + request.model() + " in failed", reason);
    return new StatusException(
        Status.INTERNAL, "switching %s in failed: %s".formatted(request.model(), reason), reason);
  }

  @Override
  public void withdraw() {
    EnsembleRun current;
    synchronized (this) {
      current = run;
    }
    if (current != null) {
      current.withdraw();
    }
  }

  @Override
  public void cancel() {
    @Nullable EnsembleRun current;
    synchronized (this) {
      cancelled = true;
      current = run;
    }
    if (current != null) {
      current.cancel();
    }
  }
}
