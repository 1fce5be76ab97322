package io.pipelane.switcher;

import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;

/** The handler of a request whose answer nobody waits for. */
public final class Ignored implements ResultHandler {
  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    throw new AssertionError("nothing is run here");
  }

  @Override
  public void completed(InferenceTimings timings) {}

  @Override
  public void failed(StatusException error) {}
}
