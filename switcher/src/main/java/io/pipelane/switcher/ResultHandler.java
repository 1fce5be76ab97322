package io.pipelane.switcher;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;

/**
 * The receiver of one request's results. For each output {@link #place} is called, then one of
 * {@link #completed} and {@link #failed} exactly once; after that the request's inputs are no
 * longer read.
 *
 * <p>Called on a lane's thread, or on the submitter's: when its run is short, and for {@link
 * #failed} during cancellation. Implementations return quickly and never block.
 */
public interface ResultHandler {
  /**
   * Where to write one output's bytes, in the encoding of {@link InputTensor#data}; asked once for
   * each. The request may still fail, and may have been run in vain before it is answered.
   *
   * @param byteSize what will be written
   * @return memory of exactly that size
   */
  MemorySegment place(String name, TensorType type, Shape shape, long byteSize);

  /**
   * The request's run computes nothing more; its outputs are on their way to their places. Told of
   * runs in worker processes that come to their end, before that.
   */
  default void computed() {}

  /** It is run again, as something failed after all. */
  default void computesAgain() {}

  /** All outputs have been written. */
  void completed(InferenceTimings timings);

  /** The request ended without a result. */
  void failed(StatusException error);

  /** This handler, with something to be done once it has been told the end, whatever it threw. */
  default ResultHandler andThen(Runnable whenTold) {
    return new FollowedHandler(this, whenTold);
  }
}
