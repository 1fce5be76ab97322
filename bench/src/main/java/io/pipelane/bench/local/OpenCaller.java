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
import io.pipelane.switcher.JobWork;
import io.pipelane.switcher.ResultHandler;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * A caller that asks an inference service in this process without waiting for the answers, which
 * are written over each other and not looked at. Safe for any thread.
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

  /** The end of a request. */
  public sealed interface End {
    /** An answer, whose time went where the timings say. */
    record Answered(InferenceTimings timings) implements End {}

    /** A refusal or a failure. */
    record Failed(StatusException error) implements End {}
  }

  /**
   * Submits a request.
   *
   * @param end told once, perhaps on a lane's thread
   */
  public void ask(Consumer<End> end) {
    ask(OptionalLong.empty(), end);
  }

  /**
   * Submits a request that is refused when its answer cannot be there in time.
   *
   * @param deadlineNanos by {@link System#nanoTime}, when its answer is due
   * @param end told once, perhaps on a lane's thread
   */
  public void ask(OptionalLong deadlineNanos, Consumer<End> end) {
    submit(
        new InferenceRequest(request.model(), request.inputs(), request.outputs(), deadlineNanos),
        end);
  }

  /**
   * Submits an iteration of a job.
   *
   * @param job what policies know of it
   * @param end told once, perhaps on a lane's thread
   */
  public void ask(JobWork job, Consumer<End> end) {
    submit(request.of(job), end);
  }

  private void submit(InferenceRequest asked, Consumer<End> end) {
    try {
      service.submit(asked, new Answer(end));
    } catch (StatusException e) {
      end.accept(new End.Failed(e));
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
    private final Consumer<End> end;

    Answer(Consumer<End> end) {
      this.end = end;
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      return OpenCaller.this.place(name, byteSize);
    }

    @Override
    public void completed(InferenceTimings timings) {
      end.accept(new End.Answered(timings));
    }

    @Override
    public void failed(StatusException error) {
      end.accept(new End.Failed(error));
    }
  }
}
