package io.pipelane.bench.local;

import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import java.util.Optional;

/**
 * A service that makes requests the steps of one sequence, which begins with the first. For one
 * thread.
 */
final class SequenceSteps implements InferenceService {
  private final InferenceService service;
  private final String id;
  private boolean isBegun;

  /**
   * Steps of a sequence that has not begun.
   *
   * @param caller whose sequence it is; callers of different numbers have different ones
   */
  SequenceSteps(InferenceService service, int caller) {
    this.service = service;
    this.id = "bench-" + caller;
  }

  @Override
  public Ticket submit(InferenceRequest request, ResultHandler handler) {
    SequenceStep step = new SequenceStep(id, !isBegun, false);
    isBegun = true;
    return service.submit(
        new InferenceRequest(
            request.model(),
            request.inputs(),
            request.outputs(),
            request.deadlineNanos(),
            request.priority(),
            Optional.of(step)),
        handler);
  }
}
