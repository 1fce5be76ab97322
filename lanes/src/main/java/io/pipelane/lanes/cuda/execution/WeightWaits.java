package io.pipelane.lanes.cuda.execution;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.cuda.StreamEvent;
import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.runtime.GateListener;
import org.jspecify.annotations.Nullable;

/** Lets a run's stream wait, segment by segment, for the weights that are not there yet. */
final class WeightWaits implements GateListener {
  private final WeightArrivals weights;
  private final CudaStream stream;
  private final @Nullable SegmentMarks marks;
  private boolean waited;

  /**
   * Waits for nothing yet.
   *
   * @param marks set where segments begin; null when they are not measured
   */
  WeightWaits(WeightArrivals weights, CudaStream stream, @Nullable SegmentMarks marks) {
    this.weights = weights;
    this.stream = stream;
    this.marks = marks;
  }

  /** Enqueues the waits in front of a segment; its gate has the same number. */
  @Override
  public void reached(int segment) {
    try {
      for (DeviceEvent arrival : weights.before(segment)) {
        ((StreamEvent) arrival).before(stream);
        waited = true;
      }
      if (marks != null) {
        marks.begin(segment);
      }
    } catch (StatusException e) {
      weights.await(segment); // Fails with the same reason, and is known as the weights' failure.
      throw e;
    }
  }

  /**
   * Tells the weights how long each segment took, if that was measured, of a run that is over and
   * has not waited.
   *
   * @param end behind the last segment
   */
  void tellTimes(int segments, CudaMark end) {
    if (marks != null && !waited) {
      weights.computed(marks.nanos(segments, end));
    }
  }

  /** Whether some weights were missing. */
  boolean waited() {
    return waited;
  }
}
