package io.pipelane.switcher.schedule.queue;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.RunKey;
import io.pipelane.switcher.schedule.policy.FirstComeFirstServed;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Timeout;

/**
 * A queue that makes batches, and callers that are told what came of them. A run takes 1,000 ns of
 * one row, and 1,200 of up to eight.
 */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class BatchFixture {
  static final ModelVersion MODEL = new ModelVersion("m", 1);
  static final long HOUR = 3_600_000_000_000L;

  final AtomicLong now = new AtomicLong();
  final Estimates estimates = new Estimates(_ -> 0);
  final RequestQueue queue =
      new RequestQueue(new FirstComeFirstServed(), estimates, 1, 100, 1_000_000, now::get);
  final List<Integer> ended = new ArrayList<>();

  BatchFixture() {
    agree(new BatchRules(List.of(2, 4, 8), 0, false));
    for (int rows = 1; rows <= 8; rows++) {
      RunKey key = RunKey.of(request(rows, 0));
      for (int i = 0; i < 3; i++) {
        estimates.ran(key, 0, 0, rows == 1 ? 1_000 : 1_200, 0);
      }
    }
  }

  void agree(BatchRules rules) {
    queue.agree(MODEL, new Terms(ModelOptions.DEFAULT.limits(), rules, 0));
  }

  static InferenceRequest request(int rows, float value) {
    return request(rows, value, OptionalLong.empty(), Priority.ONLINE, "y");
  }

  static InferenceRequest request(
      int rows, float value, OptionalLong deadline, Priority priority, String output) {
    MemorySegment data = Arena.ofAuto().allocate((long) rows * Float.BYTES, 64);
    for (int row = 0; row < rows; row++) {
      data.setAtIndex(JAVA_FLOAT, row, value);
    }
    return new InferenceRequest(
        MODEL,
        List.of(new InputTensor("x", TensorType.FP32, Shape.of(rows, 1), data)),
        List.of(output),
        deadline,
        priority);
  }

  /** What one caller is told. */
  final class Answer implements ResultHandler {
    final int number;
    float[] values = {};
    InferenceTimings timings = new InferenceTimings(0, 0, 0);
    Status failure = Status.INTERNAL;

    Answer(int number) {
      this.number = number;
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      values = new float[(int) shape.elements()];
      return MemorySegment.ofArray(values);
    }

    @Override
    public void completed(InferenceTimings told) {
      timings = told;
      ended.add(number);
    }

    @Override
    public void failed(StatusException error) {
      failure = error.status();
      ended.add(-number);
    }
  }

  Answer submit(int number) {
    return submit(number, request(1, number));
  }

  Answer submit(int number, InferenceRequest request) {
    Answer answer = new Answer(number);
    queue.submit(request, answer);
    return answer;
  }

  /** A lane that was busy until now is about to come from its run. */
  void laneAnswers() {
    now.incrementAndGet();
    queue.answers();
  }

  QueuedRequest take() {
    return Objects.requireNonNull(queue.take());
  }

  static long rows(QueuedRequest request) {
    return request.key().rows();
  }

  /** Answers twice the input, as a lane's thread does. */
  static void run(QueuedRequest request) {
    InputTensor input = request.request().inputs().getFirst();
    MemorySegment place =
        request.handler().place("y", TensorType.FP32, input.shape(), input.data().byteSize());
    for (int i = 0; i < input.shape().elements(); i++) {
      place.setAtIndex(JAVA_FLOAT, i, 2 * input.data().getAtIndex(JAVA_FLOAT, i));
    }
    request.handler().completed(new InferenceTimings(50, 0, 1_200));
  }
}
