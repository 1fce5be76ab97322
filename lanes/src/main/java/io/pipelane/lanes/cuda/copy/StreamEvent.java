package io.pipelane.lanes.cuda.copy;

import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.cuda.driver.CudaStream;

/** An event that a stream can wait for without the processor. */
public interface StreamEvent extends DeviceEvent {
  /**
   * Lets the work that is enqueued on a stream from now on wait for this event. Blocks the calling
   * platform thread only until the copy has been enqueued; the stream's context must be bound.
   *
   * @throws io.pipelane.config.StatusException when the copy is known to have failed
   */
  void before(CudaStream stream);
}
