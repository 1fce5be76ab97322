package io.pipelane.server;

import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The only output of one request, for a test that waits for it. */
final class AwaitedResult implements ResultHandler {
  private final Arena arena;
  private final CompletableFuture<MemorySegment> done = new CompletableFuture<>();
  private volatile MemorySegment output = MemorySegment.NULL;

  AwaitedResult(Arena arena) {
    this.arena = arena;
  }

  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    output = arena.allocate(byteSize, 8);
    return output;
  }

  @Override
  public void completed(InferenceTimings timings) {
    done.complete(output);
  }

  @Override
  public void failed(StatusException error) {
    done.completeExceptionally(error);
  }

  float[] floats() throws Exception {
    return done.get(1, TimeUnit.MINUTES).toArray(ValueLayout.JAVA_FLOAT);
  }
}
