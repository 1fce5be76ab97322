package io.pipelane.switcher.sharing.gate;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.switcher.ForwardingHandler;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.sharing.trial.ShareTrial;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * A handler that tells a trial how long an online request took from its coming to its answer,
 * before its caller is told. One whose run waited for weights tells nothing of a share, nor does
 * one beside which offline work computed that is to stand.
 *
 * @param mark of the runs, from when the request came
 */
record ComparedAnswer(
    ResultHandler handler,
    ShareTrial trial,
    OfflineRuns runs,
    Kind kind,
    long cameNanos,
    long mark,
    LongSupplier nanoClock)
    implements ForwardingHandler {

  /**
   * Requests that take the same time alone.
   *
   * @param ahead how many online requests were in flight as they came
   */
  record Kind(ModelVersion model, List<Shape> shapes, int ahead) {
    static Kind of(InferenceRequest request, int ahead) {
      List<Shape> shapes = request.inputs().stream().map(InputTensor::shape).toList();
      return new Kind(request.model(), shapes, ahead);
    }
  }

  @Override
  public void completed(InferenceTimings timings) {
    boolean isAsMeant = !trial.holdsOffline() || !runs.ranSince(mark);
    if (timings.stallNanos() == 0 && isAsMeant) {
      trial.onlineAnswered(kind, cameNanos, nanoClock.getAsLong() - cameNanos);
    }
    handler.completed(timings);
  }
}
