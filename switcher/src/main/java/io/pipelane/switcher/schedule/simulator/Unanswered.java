package io.pipelane.switcher.schedule.simulator;

import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.MemorySegment;

/** A handler that waits for nothing: that of simulated requests, which are never run. */
enum Unanswered implements ResultHandler {
  INSTANCE;

  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    return MemorySegment.NULL;
  }

  @Override
  public void completed(InferenceTimings timings) {}

  @Override
  public void failed(StatusException error) {}
}
