package io.pipelane.switcher.schedule;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.ResultHandler;
import java.util.concurrent.atomic.AtomicReference;

/** A request on its way through the queue. Safe for any thread. */
public final class QueuedRequest implements Ticket {
  private final AtomicReference<State> state = new AtomicReference<>(State.QUEUED);
  private final RequestQueue queue;
  private final InferenceRequest request;
  private final RunKey key;
  private final ResultHandler handler;
  private final long inputBytes;
  private final long submittedNanos;

  QueuedRequest(
      RequestQueue queue, InferenceRequest request, ResultHandler handler, long submittedNanos) {
    this.queue = queue;
    this.request = request;
    this.key = RunKey.of(request);
    this.handler = handler;
    this.inputBytes = request.inputBytes();
    this.submittedNanos = submittedNanos;
  }

  private enum State {
    QUEUED,
    STARTED,
    WITHDRAWN
  }

  public InferenceRequest request() {
    return request;
  }

  /** What runs like this one are known by. */
  RunKey key() {
    return key;
  }

  public ResultHandler handler() {
    return handler;
  }

  long inputBytes() {
    return inputBytes;
  }

  public long submittedNanos() {
    return submittedNanos;
  }

  /** Claims the request for running; false when it was withdrawn before. */
  boolean start() {
    return state.compareAndSet(State.QUEUED, State.STARTED);
  }

  @Override
  public void cancel() {
    if (state.compareAndSet(State.QUEUED, State.WITHDRAWN)) {
      queue.withdrawn(this);
      handler.failed(new StatusException(Status.CANCELLED, "the request was withdrawn"));
    }
  }
}
