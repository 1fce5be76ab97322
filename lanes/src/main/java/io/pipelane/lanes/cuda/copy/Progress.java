package io.pipelane.lanes.cuda.copy;

/** How far a stream has come, told to whoever enqueues on it. */
public interface Progress {
  /** Numbers what has been enqueued so far. */
  int mark();

  /** Whether what had been enqueued before a mark is done. */
  boolean reached(int mark);

  /**
   * Waits until it is.
   *
   * @throws io.pipelane.lanes.cuda.driver.CudaException when it has failed
   */
  void require(int mark);
}
