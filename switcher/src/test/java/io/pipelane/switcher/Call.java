package io.pipelane.switcher;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;

/** A request with one input {@code x} whose FP32 answer {@code y} is awaited. */
final class Call implements ResultHandler {
  private final CompletableFuture<float[]> result = new CompletableFuture<>();
  private final AtomicInteger answers = new AtomicInteger();
  private final AtomicInteger places = new AtomicInteger();
  private MemorySegment output = MemorySegment.NULL;

  static InferenceRequest request(ModelVersion model, float... x) {
    MemorySegment data = Arena.ofAuto().allocateFrom(ValueLayout.JAVA_FLOAT, x);
    InputTensor input = new InputTensor("x", TensorType.FP32, Shape.of(1, x.length), data);
    return new InferenceRequest(model, List.of(input), List.of("y"));
  }

  @Override
  public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
    places.incrementAndGet();
    output = Arena.ofAuto().allocate(byteSize, 64);
    return output;
  }

  @Override
  public void completed(InferenceTimings timings) {
    answers.incrementAndGet();
    result.complete(output.toArray(ValueLayout.JAVA_FLOAT));
  }

  @Override
  public void failed(StatusException error) {
    answers.incrementAndGet();
    result.completeExceptionally(error);
  }

  int answers() {
    return answers.get();
  }

  /** How often a place was asked for. */
  int places() {
    return places.get();
  }

  /** Waits for the answer, or throws the error. */
  float[] await() {
    try {
      return result.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof StatusException error) {
        throw error;
      }
      throw e;
    }
  }
}
