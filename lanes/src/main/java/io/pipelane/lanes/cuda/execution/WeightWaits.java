package io.pipelane.lanes.cuda.execution;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.cuda.StreamEvent;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.runtime.GateListener;

/** Lets a run's stream wait, segment by segment, for the weights that are not there yet. */
final class WeightWaits implements GateListener {
  private final WeightArrivals weights;
  private final CudaStream stream;
  private boolean waited;

  WeightWaits(WeightArrivals weights, CudaStream stream) {
    this.weights = weights;
    this.stream = stream;
  }

  /** Enqueues the waits in front of a segment; its gate has the same number. */
  @Override
  public void reached(int segment) {
    try {
      for (DeviceEvent arrival : weights.before(segment)) {
        ((StreamEvent) arrival).before(stream);
        waited = true;
      }
    } catch (StatusException e) {
      weights.await(segment); // Fails with the same reason, and is known as the weights' failure.
      throw e;
    }
  }

  /** Whether some weights were missing. */
  boolean waited() {
    return waited;
  }
}
