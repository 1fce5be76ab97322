package io.pipelane.switcher;

import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;

/** A handler that passes on to another one whatever it does not take otherwise. */
public interface ForwardingHandler extends ResultHandler {
  /** The other one. */
  ResultHandler handler();

  @Override
  default MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    return handler().place(name, type, shape, byteSize);
  }

  @Override
  default void computed() {
    handler().computed();
  }

  @Override
  default void computesAgain() {
    handler().computesAgain();
  }

  @Override
  default void completed(InferenceTimings timings) {
    handler().completed(timings);
  }

  @Override
  default void failed(StatusException error) {
    handler().failed(error);
  }
}
