package io.pipelane.lanes.cuda.worker;

import io.pipelane.lanes.cuda.ArrivalCount;
import io.pipelane.lanes.cuda.copy.StreamEvent;
import io.pipelane.lanes.cuda.driver.CudaStream;

/** The end of a copy that another process makes, known by its number in the count of arrivals. */
record NumberedEvent(ArrivalCount arrivals, int arrival) implements StreamEvent {
  @Override
  public void before(CudaStream stream) {
    arrivals.await(stream, arrival);
  }

  @Override
  public boolean isDone() {
    return arrivals.hasReached(arrival);
  }

  @Override
  public void await() {
    throw new UnsupportedOperationException("the device waits by itself");
  }

  @Override
  public void whenDone(Runnable action) {
    throw new UnsupportedOperationException("the device waits by itself");
  }
}
