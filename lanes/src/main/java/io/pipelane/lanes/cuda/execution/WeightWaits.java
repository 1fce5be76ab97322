package io.pipelane.lanes.cuda.execution;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.cuda.copy.StreamEvent;
import io.pipelane.lanes.cuda.copy.StreamProgress;
import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.runtime.GateListener;
import org.jspecify.annotations.Nullable;

/**
 * A listener that has a run's stream wait, segment by segment, for the weights that are not there
 * yet. It has the run itself wait for whatever goes before it.
 */
final class WeightWaits implements GateListener {
  /** A segment is shorter than that, unless it waits for weights. */
  private static final long LONGEST_SPIN_NANOS = 2_000_000;

  /** What asking takes when nothing goes before the run. */
  private static final long AT_ONCE_NANOS = 20_000;

  private final WeightArrivals weights;
  private final CudaStream stream;
  private final StreamProgress progress;
  private final int ahead;
  private final @Nullable SegmentPace pace;
  private final @Nullable SegmentMarks marks;
  private boolean waited;
  private boolean gaveWay;

  /**
   * Waits for nothing yet.
   *
   * @param progress the stream's
   * @param marks set where segments begin; null when they are not measured
   * @param pace of a run whose segments take a moment to enqueue; null where it is longer
   */
  WeightWaits(
      WeightArrivals weights,
      CudaStream stream,
      StreamProgress progress,
      @Nullable SegmentMarks marks,
      @Nullable SegmentPace pace) {
    this.weights = weights;
    this.stream = stream;
    this.progress = progress;
    this.ahead = weights.segmentsAhead();
    this.marks = marks;
    this.pace = ahead == 1 ? pace : null;
  }

  /** Enqueues the waits in front of a segment; its gate has the same number. */
  @Override
  public void reached(int segment) {
    if (ahead != WeightArrivals.ALL) {
      giveWay(segment);
    }
    try {
      for (DeviceEvent arrival : weights.before(segment)) {
        ((StreamEvent) arrival).before(stream);
        waited = true;
        if (pace != null) {
          pace.waits();
        }
      }
      if (marks != null && !waited) {
        marks.begin(segment);
      }
    } catch (StatusException e) {
      weights.await(segment); // Fails with the same reason, and is known as the weights' failure.
      throw e;
    }
  }

  /**
   * Has a run that can be stopped give way before a piece of its inputs: all may take long to come.
   */
  void beforePiece() {
    if (ahead != WeightArrivals.ALL) {
      pass(0);
    }
  }

  /** No segment is enqueued before enough of those in front of it are over. */
  private void giveWay(int segment) {
    int enqueued = segment > 0 ? progress.mark() : 0;
    if (segment >= ahead && !awaitOver(segment, enqueued)) {
      stream.synchronize();
    }
    pass(segment);
    if (pace != null && segment == 0) {
      pace.begin();
    } else if (pace != null) {
      pace.next(enqueued);
    }
  }

  private void pass(int segment) {
    long begin = System.nanoTime();
    weights.giveWay(segment);
    gaveWay |= System.nanoTime() - begin > AT_ONCE_NANOS;
  }

  /** Of one segment ahead, about to be over is enough, where that can be told. */
  private boolean awaitOver(int segment, int enqueued) {
    return pace == null
        ? progress.await(enqueued - ahead + 1, LONGEST_SPIN_NANOS)
        : pace.await(segment - 1, enqueued, LONGEST_SPIN_NANOS);
  }

  /**
   * Tells the weights how long each segment took, if that was measured, of a run that is over and
   * has not waited.
   *
   * @param end behind the last segment
   */
  void tellTimes(int segments, CudaMark end) {
    if (marks != null && isUndisturbed()) {
      weights.computed(marks.nanos(segments, end));
    }
  }

  /** Whether something else went before the run. */
  boolean gaveWay() {
    return gaveWay;
  }

  /** Whether the run has waited for nothing, so that its time is that of its computation. */
  boolean isUndisturbed() {
    return !waited && !gaveWay;
  }
}
