package io.pipelane.switcher.placement;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.PlacedOnce;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A request on one of several devices; on another one when that is lost. Its handler is told one
 * end, that of the last attempt. Safe for any thread.
 */
final class RoutedRequest implements ResultHandler, Ticket {
  /*
   * Attempts follow each other: one ends before the next begins, on the same thread. So `choice`
   * needs no lock. `ticket` and `attempt` need one: an attempt may have ended, and another begun,
   * before its ticket is here, and whoever cancels comes at any time.
   */
  private final Router router;
  private final Route route;
  private final InferenceRequest request;
  private final ResultHandler handler;
  private final Function<Member, Hold> devices;
  private final boolean isAsked;
  private final @Nullable Consumer<StatusException> whenLost;
  private volatile Router.@Nullable Choice choice;
  private Ticket ticket = Ticket.ENDED;
  private int attempt;
  private boolean cancelled;

  /**
   * A request that no device has yet.
   *
   * @param devices what takes it there
   */
  RoutedRequest(
      Router router,
      Route route,
      InferenceRequest request,
      ResultHandler handler,
      Function<Member, Hold> devices) {
    this(router, route, request, handler, devices, true, null);
  }

  private RoutedRequest(
      Router router,
      Route route,
      InferenceRequest request,
      ResultHandler handler,
      Function<Member, Hold> devices,
      boolean isAsked,
      @Nullable Consumer<StatusException> whenLost) {
    this.router = router;
    this.route = route;
    this.request = request;
    this.handler = new PlacedOnce(handler);
    this.devices = devices;
    this.isAsked = isAsked;
    this.whenLost = whenLost;
  }

  /**
   * A request that goes to one device alone.
   *
   * @param isAsked whether somebody asks for the model by it, and has not been counted
   * @param whenLost told instead of the handler when that is lost under it
   */
  static RoutedRequest staying(
      Router router,
      Route route,
      InferenceRequest request,
      ResultHandler handler,
      Function<Member, Hold> devices,
      boolean isAsked,
      Consumer<StatusException> whenLost) {
    return new RoutedRequest(router, route, request, handler, devices, isAsked, whenLost);
  }

  /**
   * Gives the request to a device; the handler may be told the end before this returns.
   *
   * @throws StatusException when a device that is not lost refuses it, or all are lost; the handler
   *     is not called then
   */
  void submit() {
    while (true) {
      Router.Choice chosen = router.choose(route, request);
      int number = begin(chosen);
      try {
        hold(number, devices.apply(chosen.member()).submit(request, this));
        return;
      } catch (RuntimeException | Error e) {
        end(chosen);
        if (!(e instanceof StatusException) || chosen.member().isUsable()) {
          throw e;
        }
      }
    }
  }

  private int begin(Router.Choice chosen) {
    choice = chosen;
    chosen.member().routed.increment();
    chosen.member().backlog.came(request.priority(), chosen.expectedNanos());
    route.came(chosen.member().index);
    int number;
    synchronized (this) {
      number = ++attempt;
    }
    if (number == 1 && isAsked) {
      router.count(route, request, chosen.member());
    }
    return number;
  }

  private void end(Router.Choice chosen) {
    route.left(chosen.member().index);
    chosen.member().backlog.left(request.priority(), chosen.expectedNanos());
  }

  private void hold(int number, Ticket given) {
    boolean withdraw;
    synchronized (this) {
      if (number != attempt) {
        return; // It has ended, and another is under way.
      }
      ticket = given;
      withdraw = cancelled;
    }
    if (withdraw) {
      given.cancel();
    }
  }

  @Override
  public void cancel() {
    Ticket held;
    synchronized (this) {
      cancelled = true;
      held = ticket;
    }
    held.cancel();
  }

  @Override
  public void withdraw() {
    Ticket held;
    synchronized (this) {
      held = ticket;
    }
    held.withdraw();
  }

  private synchronized boolean isCancelled() {
    return cancelled;
  }

  private Router.Choice ended() {
    Router.Choice chosen = choice;
    if (chosen == null) {
      throw new IllegalStateException("an end without a beginning");
    }
    end(chosen);
    return chosen;
  }

  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    return handler.place(name, type, shape, byteSize);
  }

  @Override
  public void completed(InferenceTimings timings) {
    ended().member().answered(request.priority(), timings);
    handler.completed(timings);
  }

  @Override
  public void failed(StatusException error) {
    Member member = ended().member();
    if (member.isUsable()
        || error.status() == Status.CANCELLED
        || error.getCause() instanceof WorkerStuckException // Who may still write to its places.
        || isCancelled()) {
      handler.failed(error);
      return;
    }
    member.lostRuns.increment();
    if (whenLost != null) {
      whenLost.accept(error);
      return;
    }
    try {
      submit();
    } catch (RuntimeException | Error e) {
      handler.failed(failure(e));
    }
  }

  /** What a handler is told of what stood in the way of another attempt. */
  static StatusException failure(Throwable thrown) {
    return thrown instanceof StatusException known
        ? known
        : new StatusException(
            Status.INTERNAL, "a request could not go to another device: " + thrown, thrown);
  }
}
