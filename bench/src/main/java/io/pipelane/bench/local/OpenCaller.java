package io.pipelane.bench.local;

import io.pipelane.config.StatusException;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Asks an inference service in this process without waiting for the answers, which are written over
 * each other and not looked at. Safe for any thread.
 */
public final class OpenCaller {
  private final InferenceService service;
  private final InferenceRequest request;
  private final Map<String, MemorySegment> outputs = new ConcurrentHashMap<>();

  OpenCaller(
      InferenceService service, ModelVersion model, List<Tensor> inputs, List<String> outputs) {
    this.service = service;
    List<InputTensor> tensors =
        inputs.stream()
            .map(
                input ->
                    new InputTensor(
                        input.name(),
                        input.type(),
                        input.shape(),
                        Arena.ofAuto()
                            .allocate(input.data().remaining(), 64)
                            .copyFrom(MemorySegment.ofBuffer(input.data()))))
            .toList();
    request = new InferenceRequest(model, tensors, outputs);
  }

  /**
   * Submits a request.
   *
   * @param end told once, perhaps on a lane's thread, where the answer's time went; nothing where
   *     there was no answer
   */
  public void ask(Consumer<Optional<InferenceTimings>> end) {
    try {
      service.submit(request, new Answer(end));
    } catch (StatusException e) {
      end.accept(Optional.empty());
    }
  }

  private MemorySegment place(String name, long byteSize) {
    return outputs.compute(
        name,
        (_, kept) ->
            kept != null && kept.byteSize() == byteSize
                ? kept
                : Arena.ofAuto().allocate(byteSize, 64));
  }

  private final class Answer implements ResultHandler {
    private final Consumer<Optional<InferenceTimings>> end;

    Answer(Consumer<Optional<InferenceTimings>> end) {
      this.end = end;
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      return OpenCaller.this.place(name, byteSize);
    }

    @Override
    public void completed(InferenceTimings timings) {
      end.accept(Optional.of(timings));
    }

    @Override
    public void failed(StatusException error) {
      end.accept(Optional.empty());
    }
  }
}
