package io.pipelane.switcher.schedule.queue;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.JobWork;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.RunPlace;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.RunKey;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Requests whose runs take what a test says, in a time that it says. */
public final class Requests {
  public final Estimates estimates;
  private final RequestQueue queue;

  /** What failed last. */
  @Nullable StatusException failure;

  /** In a queue for one lane that holds as many as come. */
  public Requests(SchedulingPolicy policy, Estimates estimates) {
    this.estimates = estimates;
    this.queue = new RequestQueue(policy, estimates, 1, 1_000_000, Long.MAX_VALUE, () -> 0);
  }

  /** Has runs of a model be known to take so long. */
  public static void learn(Estimates estimates, String model, long nanos) {
    RunKey key = RunKey.of(request(model, OptionalLong.empty()));
    for (int i = 0; i < 3; i++) {
      estimates.ran(key, nanos, 0, nanos, 0);
    }
  }

  /** A request that is in no line yet. */
  public QueuedRequest submitted(String model, long nowNanos, OptionalLong deadlineNanos) {
    return new QueuedRequest(queue, request(model, deadlineNanos), new Answer(), nowNanos);
  }

  /** The same without a deadline. */
  public QueuedRequest submitted(String model, long nowNanos) {
    return submitted(model, nowNanos, OptionalLong.empty());
  }

  /** A step that is in no line yet, whose state holds so many bytes. */
  public QueuedRequest step(String model, long nowNanos, long stateBytes) {
    InferenceRequest request =
        request(model, OptionalLong.empty()).at(RunPlace.ANY.holding(() -> stateBytes));
    return new QueuedRequest(queue, request, new Answer(), nowNanos);
  }

  /** An offline request that is in no line yet. */
  public QueuedRequest offline(String model, long nowNanos) {
    InferenceRequest online = request(model, OptionalLong.empty());
    InferenceRequest request =
        new InferenceRequest(
            online.model(),
            online.inputs(),
            online.outputs(),
            online.deadlineNanos(),
            Priority.OFFLINE);
    return new QueuedRequest(queue, request, new Answer(), nowNanos);
  }

  /** An item of a job that is in no line yet. */
  public QueuedRequest item(String model, long nowNanos, JobWork job, Priority priority) {
    InferenceRequest request = request(model, OptionalLong.empty()).inClass(priority).of(job);
    QueuedRequest item = new QueuedRequest(queue, request, new Answer(), nowNanos);
    item.takes(estimates.history().of(item.key()));
    return item;
  }

  /** Has requests of a model take so much of the device's memory for its weights. */
  public void agree(String model, long weightBytes) {
    queue.agree(
        new ModelVersion(model, 1),
        new Terms(ModelOptions.DEFAULT.limits(), BatchRules.NONE, weightBytes));
  }

  /** An online request of a byte. */
  public static InferenceRequest request(String model, OptionalLong deadlineNanos) {
    MemorySegment data = MemorySegment.ofArray(new byte[1]);
    return new InferenceRequest(
        new ModelVersion(model, 1),
        List.of(new InputTensor("x", TensorType.UINT8, Shape.of(1), data)),
        List.of(),
        deadlineNanos,
        Priority.ONLINE);
  }

  private final class Answer implements ResultHandler {
    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      throw new AssertionError("nothing is run here");
    }

    @Override
    public void completed(InferenceTimings timings) {}

    @Override
    public void failed(StatusException error) {
      failure = error;
    }
  }
}
