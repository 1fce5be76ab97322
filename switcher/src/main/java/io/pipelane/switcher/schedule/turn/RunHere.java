package io.pipelane.switcher.schedule.turn;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A {@link Turn}'s run that computes on its own thread: ends it between two gates once nobody wants
 * it any more. Safe for any thread; takes no lock beside its own.
 */
final class RunHere implements WeightArrivals.Here {
  private @Nullable Consumer<StatusException> end;

  /** A request's run computes from now on; who withdrew it before that is heeded. */
  synchronized WeightArrivals.Here begin(QueuedRequest request, Consumer<StatusException> end) {
    this.end = end;
    endIfUnwanted(request);
    return this;
  }

  /** Ends the run, if it computes here and its caller has gone, or it makes way. */
  synchronized void endIfUnwanted(QueuedRequest request) {
    @Nullable StatusException reason = request.withdrawal();
    if (end != null && reason != null) {
      end.accept(reason);
    }
  }

  /** It computes nothing more. */
  @Override
  public synchronized void close() {
    end = null;
  }
}
