package io.pipelane.switcher.sequence;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.ResultHandler;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A caller's ticket for a step, which waits for those before it and becomes a request then, or
 * several one after another. Safe for any thread.
 */
public final class StepTicket implements Ticket {
  private final BooleanSupplier leavesLine;
  private final ResultHandler handler;
  private volatile @Nullable Ticket request;
  private volatile boolean cancelled;

  /**
   * A step that has not begun.
   *
   * @param leavesLine takes the step out of its line; false where it does not wait there
   * @param handler told the end of one that has left its line
   */
  public StepTicket(BooleanSupplier leavesLine, ResultHandler handler) {
    this.leavesLine = leavesLine;
    this.handler = handler;
  }

  /** The step has become a request, which is cancelled if the step was. */
  public void becomes(Ticket submitted) {
    request = submitted;
    if (cancelled) {
      submitted.cancel();
    }
  }

  @Override
  public void cancel() {
    if (hasLeft()) {
      return;
    }
    cancelled = true;
    @Nullable Ticket submitted = request;
    if (submitted != null) {
      submitted.cancel();
    }
  }

  @Override
  public void withdraw() {
    @Nullable Ticket submitted = hasLeft() ? null : request;
    if (submitted != null) {
      submitted.withdraw();
    }
  }

  private boolean hasLeft() {
    boolean waited = leavesLine.getAsBoolean();
    if (waited) {
      handler.failed(new StatusException(Status.CANCELLED, "the request was withdrawn"));
    }
    return waited;
  }
}
