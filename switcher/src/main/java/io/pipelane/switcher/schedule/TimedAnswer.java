package io.pipelane.switcher.schedule;

import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.MemorySegment;

/** Notes that a request has been answered, before its caller is told. */
record TimedAnswer(ResultHandler handler, Runnable answered) implements ResultHandler {
  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    return handler.place(name, type, shape, byteSize);
  }

  @Override
  public void computed() {
    handler.computed();
  }

  @Override
  public void computesAgain() {
    handler.computesAgain();
  }

  @Override
  public void completed(InferenceTimings timings) {
    answered.run();
    handler.completed(timings);
  }

  @Override
  public void failed(StatusException error) {
    handler.failed(error);
  }
}
