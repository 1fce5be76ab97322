package io.pipelane.bench.local;

import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.SequenceStep;
import java.util.Optional;

/** Makes requests the steps of one sequence, which begins with the first. For one thread. */
final class SequenceSteps implements InferenceService {
  private static final String ID = "bench";

  private final InferenceService service;
  private boolean isBegun;

  SequenceSteps(InferenceService service) {
    this.service = service;
  }

  @Override
  public Ticket submit(InferenceRequest request, ResultHandler handler) {
    SequenceStep step = new SequenceStep(ID, !isBegun, false);
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
