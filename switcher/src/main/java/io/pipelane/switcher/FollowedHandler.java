package io.pipelane.switcher;

import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;

/** See {@link ResultHandler#andThen}. */
record FollowedHandler(ResultHandler handler, Runnable whenTold) implements ResultHandler {
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
    try {
      handler.completed(timings);
    } finally {
      whenTold.run();
    }
  }

  @Override
  public void failed(StatusException error) {
    try {
      handler.failed(error);
    } finally {
      whenTold.run();
    }
  }
}
