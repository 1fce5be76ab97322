package io.pipelane.switcher.schedule.run;

import io.pipelane.config.StatusException;
import java.io.Serial;

/**
 * The failure of a run that needs a lane which can be had only once others let go of weights. While
 * the run holds its own, it may not wait for that.
 */
final class LaneWaitsForWeightsException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  private final long laneBytes;
  private final StatusException refusal;

  /**
   * A run that has placed nothing.
   *
   * @param laneBytes what its lane, and a session that may have to be built, take
   * @param refusal what is answered where it cannot wait
   */
  LaneWaitsForWeightsException(long laneBytes, StatusException refusal) {
    super(refusal);
    this.laneBytes = laneBytes;
    this.refusal = refusal;
  }

  long laneBytes() {
    return laneBytes;
  }

  StatusException refusal() {
    return refusal;
  }
}
