package io.pipelane.bench.local;

import io.pipelane.bench.measure.Run;
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
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A caller that asks an inference service in this process the same thing again and again: submits
 * and sleeps until the answer is there. So a run includes the hop to a lane's thread and back,
 * unless it is so short that the caller's thread makes it.
 *
 * <p>One thread's: its input and the memory for its answers are made once.
 */
public final class LocalCaller implements Run {
  private final InferenceService service;
  private final InferenceRequest request;
  private final Answer answer;

  /**
   * A caller.
   *
   * @param outputs the names of the outputs to ask for
   */
  public LocalCaller(
      InferenceService service, ModelVersion model, List<Tensor> inputs, List<String> outputs) {
    this(service, model, inputs, outputs, bytes -> Arena.ofAuto().allocate(bytes, 64));
  }

  /**
   * A caller whose inputs and outputs lie in memory of a certain kind.
   *
   * @param memory gives native memory of a size, once an input or output
   */
  public LocalCaller(
      InferenceService service,
      ModelVersion model,
      List<Tensor> inputs,
      List<String> outputs,
      LongFunction<MemorySegment> memory) {
    this.service = service;
    this.answer = new Answer(memory);
    List<InputTensor> tensors = new ArrayList<>();
    for (Tensor input : inputs) {
      MemorySegment data = memory.apply(input.data().remaining());
      data.copyFrom(MemorySegment.ofBuffer(input.data()));
      tensors.add(new InputTensor(input.name(), input.type(), input.shape(), data));
    }
    request = new InferenceRequest(model, tensors, outputs);
  }

  @Override
  public void run() {
    answer.begin();
    service.submit(request, answer);
    answer.await();
  }

  /** Where the time of the last run went. */
  public InferenceTimings timings() {
    return answer.timings;
  }

  /** The last run's outputs by name; the next run overwrites them. */
  public Map<String, MemorySegment> outputs() {
    return answer.outputs;
  }

  /* Written by the thread that runs it until it sets `done`, read by the caller's after that. */
  private static final class Answer implements ResultHandler {
    private final LongFunction<MemorySegment> memory;
    private final Map<String, MemorySegment> outputs = new HashMap<>();
    private @Nullable Thread caller;
    private @Nullable StatusException error;
    private InferenceTimings timings = new InferenceTimings(0, 0, 0);
    private volatile boolean done;

    Answer(LongFunction<MemorySegment> memory) {
      this.memory = memory;
    }

    void begin() {
      caller = Thread.currentThread();
      error = null;
      done = false;
    }

    void await() {
      while (!done) {
        LockSupport.park(this);
      }
      if (error != null) {
        throw error;
      }
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      return outputs.compute(
          name,
          (_, kept) -> kept != null && kept.byteSize() == byteSize ? kept : memory.apply(byteSize));
    }

    @Override
    public void completed(InferenceTimings timings) {
      this.timings = timings;
      end();
    }

    @Override
    public void failed(StatusException error) {
      this.error = error;
      end();
    }

    private void end() {
      Thread waiting = caller;
      done = true;
      LockSupport.unpark(waiting);
    }
  }
}
