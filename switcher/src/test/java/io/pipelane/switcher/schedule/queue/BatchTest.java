package io.pipelane.switcher.schedule.queue;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
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
import io.pipelane.switcher.RunPlace;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.RunKey;
import io.pipelane.switcher.schedule.policy.FirstComeFirstServed;
import io.pipelane.switcher.schedule.policy.Room;
import io.pipelane.switcher.schedule.policy.SchedulingPolicies;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A run takes 1,000 ns of one row, and 1,200 of up to eight. */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BatchTest {
  private static final ModelVersion MODEL = new ModelVersion("m", 1);
  private static final long HOUR = 3_600_000_000_000L;

  private final AtomicLong now = new AtomicLong();
  private final Estimates estimates = new Estimates(_ -> 0);
  private final FirstComeFirstServed policy = new FirstComeFirstServed();
  private final RequestQueue queue =
      new RequestQueue(policy, estimates, 1, 100, 1_000_000, now::get);
  private final List<Integer> ended = new ArrayList<>();

  BatchTest() {
    agree(new BatchRules(List.of(2, 4, 8), 0, false));
    for (int rows = 1; rows <= 8; rows++) {
      RunKey key = RunKey.of(request(rows, 0));
      for (int i = 0; i < 3; i++) {
        estimates.ran(key, 0, 0, rows == 1 ? 1_000 : 1_200, 0);
      }
    }
  }

  private void agree(BatchRules rules) {
    queue.agree(MODEL, new Terms(ModelOptions.DEFAULT.limits(), rules, 0));
  }

  private static InferenceRequest request(int rows, float value) {
    return request(rows, value, OptionalLong.empty(), Priority.ONLINE, "y");
  }

  private static InferenceRequest request(
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
  private final class Answer implements ResultHandler {
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

  private Answer submit(int number) {
    return submit(number, request(1, number));
  }

  private Answer submit(int number, InferenceRequest request) {
    Answer answer = new Answer(number);
    queue.submit(request, answer);
    return answer;
  }

  /** A lane that was busy until now is about to come from its run. */
  private void laneAnswers() {
    now.incrementAndGet();
    queue.answers();
  }

  private QueuedRequest take() {
    return Objects.requireNonNull(queue.take());
  }

  private static long rows(QueuedRequest request) {
    return request.key().rows();
  }

  /** Answers twice the input, as a lane's thread does. */
  private static void run(QueuedRequest request) {
    InputTensor input = request.request().inputs().getFirst();
    MemorySegment place =
        request.handler().place("y", TensorType.FP32, input.shape(), input.data().byteSize());
    for (int i = 0; i < input.shape().elements(); i++) {
      place.setAtIndex(JAVA_FLOAT, i, 2 * input.data().getAtIndex(JAVA_FLOAT, i));
    }
    request.handler().completed(new InferenceTimings(50, 0, 1_200));
  }

  @Test
  void batchOfSteps_holdsWhatTheirStatesDo() {
    for (int i = 1; i <= 4; i++) {
      long bytes = 10L * i;
      submit(i, request(1, i).at(RunPlace.ANY.holding(() -> bytes)));
    }
    QueuedRequest batch = take();
    assertEquals(100, batch.request().place().stateBytes().getAsLong());
    run(batch);
  }

  @Test
  void take_severalThatWait_runAsOneAndEachHasItsOwnAnswer() {
    List<Answer> answers = new ArrayList<>();
    for (int i = 1; i <= 5; i++) {
      answers.add(submit(i));
    }
    QueuedRequest batch = take();
    assertEquals(4, rows(batch));
    run(batch);

    assertEquals(List.of(1, 2, 3, 4), ended);
    for (int i = 0; i < 4; i++) {
      assertArrayEquals(new float[] {2 * (i + 1)}, answers.get(i).values);
      assertEquals(4, answers.get(i).timings.batch());
      assertEquals(i, answers.get(i).timings.place());
    }
    assertEquals(1, rows(take()));
    assertEquals(0, queue.waiting());
    assertEquals(1, queue.overview().batches());
    assertEquals(4, queue.overview().batchedRequests());
  }

  @Test
  void take_theOnlyOne_isNotTouched() {
    InferenceRequest request = request(1, 3);
    submit(1, request);
    assertSame(request, take().request());
  }

  @Test
  void take_nothingIsGainedByBatches_runsAlone() {
    for (int i = 0; i < 50; i++) {
      estimates.ran(RunKey.of(request(2, 0)), 0, 0, 4_000, 0);
    }
    for (int i = 1; i <= 8; i++) {
      submit(i);
    }
    assertEquals(1, rows(take()));
  }

  @Test
  void take_hardlyAnythingIsGainedByBatches_runsAlone() {
    observe(1, 1_000);
    for (int rows = 2; rows <= 8; rows++) {
      observe(rows, 1_000 * rows - 100);
    }
    for (int i = 1; i <= 8; i++) {
      submit(i);
    }
    assertEquals(1, rows(take()));
  }

  /** Times of runs alone were taken when the machine was quiet, and are looked at again. */
  @Test
  void take_timesThatHaveBecomeOld_areTakenAgain() {
    observe(1, 100);
    int alone = 0;
    for (int taken = 0; taken < 3_000; taken++) {
      while (queue.waiting() < 8) {
        submit(0);
      }
      QueuedRequest next = take();
      alone += rows(next) == 1 ? 1 : 0;
      estimates.ran(next.key(), 0, 0, rows(next) == 1 ? 1_000 : 1_200, 0);
    }
    assertTrue(alone > 0 && alone < 300, alone + " ran alone");
  }

  private void observe(int rows, long nanos) {
    for (int i = 0; i < 9; i++) {
      estimates.ran(RunKey.of(request(rows, 0)), 0, 0, nanos, 0);
    }
  }

  @Test
  void interrupting_aBatch_countsEachOfItsRequests() {
    SchedulingPolicy srtf =
        SchedulingPolicies.of(
            PipelaneConfig.of(Map.of("scheduling.policy", "srtf")).scheduling(),
            estimates,
            new Room(estimates, Long.MAX_VALUE, () -> Long.MAX_VALUE));
    observe(1, 10_000_000);
    for (int i = 1; i <= 4; i++) {
      submit(i);
    }
    observe(2, 15_000_000);
    observe(4, 20_000_000);
    QueuedRequest batch = take();
    assertEquals(4, rows(batch));
    srtf.add(new QueuedRequest(queue, request(1, 5), new Answer(5), 0));
    assertNull(srtf.interrupting(batch, 80_000_000, 0), "more of its own");

    observe(3, 10_000_000);
    QueuedRequest other = new QueuedRequest(queue, request(3, 6), new Answer(6), 0);
    srtf.add(other);
    observe(1, 11_000_000);
    assertNull(srtf.interrupting(batch, 20_000_000, 0));
    assertSame(other, srtf.interrupting(batch, 80_000_000, 0));
  }

  @Test
  void take_othersThatAreNotAlike_areLeftInLine() {
    submit(1);
    submit(2, request(1, 2, OptionalLong.empty(), Priority.OFFLINE, "y"));
    submit(3, request(1, 3, OptionalLong.empty(), Priority.ONLINE, "z"));
    submit(4, request(3, 4));
    submit(5);

    QueuedRequest batch = take();
    run(batch);

    assertEquals(List.of(1, 5), ended);
    assertEquals(3, queue.waiting());
  }

  @Test
  void take_deadlineThatTheBatchWouldMiss_runsAlone() {
    submit(1, request(1, 1, OptionalLong.of(1_100), Priority.ONLINE, "y"));
    submit(2);
    assertEquals(1, rows(take()));
  }

  @Test
  void take_requestsOfSeveralRows_fillABatchTogether() {
    submit(1, request(2, 1));
    submit(2, request(2, 2));
    submit(3, request(2, 3));
    QueuedRequest batch = take();
    assertEquals(4, rows(batch));
    run(batch);
    assertEquals(List.of(1, 2), ended);
  }

  @Test
  void failed_eachRunsAgainAlone() {
    Answer first = submit(1);
    Answer second = submit(2);
    QueuedRequest batch = take();
    assertEquals(2, rows(batch));

    batch.handler().failed(new StatusException(Status.INVALID_ARGUMENT, "an index is too large"));
    assertEquals(List.of(), ended);
    queue.close();
    QueuedRequest alone = take();
    assertEquals(1, rows(alone));
    alone.handler().failed(new StatusException(Status.INVALID_ARGUMENT, "an index is too large"));
    run(take());

    assertEquals(List.of(-1, 2), ended);
    assertEquals(Status.INVALID_ARGUMENT, first.failure);
    assertArrayEquals(new float[] {4}, second.values);
    assertEquals(null, queue.take());
    assertEquals(1, queue.overview().failedBatches());
  }

  /** Its members are asked elsewhere at once, and this device is asked nothing more. */
  @Test
  void failed_withItsDevice_isToldToAll() {
    queue.repeatWhile(() -> false);
    Answer first = submit(1);
    Answer second = submit(2);
    take().handler().failed(new StatusException(Status.DEVICE_FAILURE, "it is lost"));
    assertEquals(List.of(-1, -2), ended);
    assertEquals(Status.DEVICE_FAILURE, first.failure);
    assertEquals(Status.DEVICE_FAILURE, second.failure);
    queue.close();
    assertNull(queue.take());
  }

  @Test
  void failed_forWantOfMemory_smallerBatchesAreTried() {
    for (int i = 1; i <= 4; i++) {
      submit(i);
    }
    QueuedRequest batch = take();
    assertEquals(4, rows(batch));
    batch.handler().failed(new StatusException(Status.INSUFFICIENT_MEMORY, "too large"));
    for (int i = 0; i < 4; i++) {
      run(take());
    }
    for (int i = 1; i <= 4; i++) {
      submit(i);
    }
    assertEquals(2, rows(take()));
  }

  /** One's caller goes, and the model with the other's: it is told to ask for what follows. */
  @Test
  void cancelled_nobodyWantsTheBatch_eachIsToldItsOwnReason() {
    Answer first = new Answer(1);
    Answer second = new Answer(2);
    QueuedRequest cancelled = queue.submit(offline(1), first);
    queue.submit(offline(2), second);
    QueuedRequest batch = take();
    assertEquals(2, rows(batch));

    queue.leave(MODEL);
    cancelled.cancel();
    batch.handler().failed(assertThrows(StatusException.class, batch::requireWanted));

    assertEquals(List.of(-1, -2), ended);
    assertEquals(Status.CANCELLED, first.failure);
    assertEquals(Status.UNAVAILABLE, second.failure);
  }

  private static InferenceRequest offline(float value) {
    return request(1, value, OptionalLong.empty(), Priority.OFFLINE, "y");
  }

  @Test
  void cancel_oneThatWaits_isNotInTheBatch() {
    submit(1);
    QueuedRequest cancelled = queue.submit(request(1, 2), new Answer(2));
    submit(3);
    cancelled.cancel();
    run(take());
    assertEquals(List.of(-2, 1, 3), ended);
  }

  @Test
  void preserveOrder_laterEndsFirst_isToldSecond() {
    agree(new BatchRules(List.of(), 0, true));
    submit(1);
    submit(2);
    submit(3);
    QueuedRequest first = take();
    QueuedRequest second = take();
    assertNotSame(first, second);
    run(second);
    assertEquals(List.of(), ended);
    run(first);
    assertEquals(List.of(1, 2), ended);
    run(take());
    assertEquals(List.of(1, 2, 3), ended);
  }

  @Test
  void unbatched_onlyTheOrderStays() {
    BatchRules ordered = new BatchRules(List.of(2, 4, 8), HOUR, true);
    Terms terms = new Terms(ModelOptions.DEFAULT.limits(), ordered, 7);
    BatchRules alone = new BatchRules(List.of(), 0, true);
    assertEquals(new Terms(terms.limits(), alone, 7), terms.unbatched());
  }

  @Test
  void maxDelay_laneIsIdle_nobodyIsHeld() throws Exception {
    agree(new BatchRules(List.of(2, 4, 8), HOUR, false));
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<QueuedRequest> taken = threads.submit(this::take);
      while (queue.idle() == 0) {
        Thread.onSpinWait();
      }
      submit(1);
      assertEquals(1, rows(taken.get()));
    }
  }

  /** The lane thread that answered has not come back yet. */
  @Test
  void maxDelay_comesUponTheAnswerOfTheRunBefore_isNotHeld() throws Exception {
    agree(new BatchRules(List.of(2, 4, 8), HOUR, false));
    laneAnswers();
    submit(1);
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<QueuedRequest> taken = threads.submit(this::take);
      try {
        assertEquals(1, rows(taken.get(10, TimeUnit.SECONDS)));
      } finally {
        queue.close(); // Who is held goes on.
      }
    }
  }

  /** The members of a batch are answered one after another, and some send again before the last. */
  @Test
  void maxDelay_twoComeUponTheAnswer_waitUntilTheBatchIsFull() throws Exception {
    agree(new BatchRules(List.of(2, 4, 8), HOUR, false));
    laneAnswers();
    submit(1);
    submit(2);
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<QueuedRequest> taken = threads.submit(this::take);
      while (queue.waiting() > 0) {
        Thread.onSpinWait();
      }
      for (int i = 3; i <= 8; i++) {
        assertTrue(!taken.isDone());
        submit(i);
      }
      assertEquals(8, rows(taken.get()));
    }
  }

  @Test
  void maxDelay_laneComesFromARun_waitsUntilTheBatchIsFull() throws Exception {
    agree(new BatchRules(List.of(2, 4, 8), HOUR, false));
    submit(1);
    laneAnswers();
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<QueuedRequest> taken = threads.submit(this::take);
      while (queue.waiting() > 0) {
        Thread.onSpinWait();
      }
      for (int i = 2; i <= 8; i++) {
        assertTrue(!taken.isDone());
        submit(i);
      }
      assertEquals(8, rows(taken.get()));
    }
  }

  @Test
  void maxDelay_anotherLaneBecomesIdle_letsTheBatchGo() throws Exception {
    agree(new BatchRules(List.of(2, 4, 8), HOUR, false));
    submit(1);
    laneAnswers();
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Future<QueuedRequest> held = threads.submit(this::take);
      while (queue.waiting() > 0) {
        Thread.onSpinWait();
      }
      Future<?> other = threads.submit(queue::take);
      assertEquals(1, rows(held.get()));
      queue.close();
      assertEquals(null, other.get());
    }
  }

  @Test
  void maxDelay_deadlineWouldPass_isNotHeld() {
    agree(new BatchRules(List.of(2, 4, 8), HOUR, false));
    submit(1, request(1, 1, OptionalLong.of(100_000), Priority.ONLINE, "y"));
    laneAnswers();
    assertEquals(1, rows(take()));
  }

  @Test
  void maxDelay_oneComesThatCannotWait_letsTheBatchGo() throws Exception {
    agree(new BatchRules(List.of(2, 4, 8), HOUR, false));
    submit(1, request(1, 1, OptionalLong.of(HOUR), Priority.ONLINE, "y"));
    laneAnswers();
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<QueuedRequest> taken = threads.submit(this::take);
      while (queue.waiting() > 0) {
        Thread.onSpinWait();
      }
      submit(2);
      while (queue.waiting() > 0) {
        assertTrue(!taken.isDone(), "it is held");
      }
      submit(3, request(1, 3, OptionalLong.of(100_000), Priority.ONLINE, "y"));
      assertEquals(2, rows(taken.get()));
    }
  }

  @Test
  void maxDelay_isOver_runsWhatThereIs() {
    agree(new BatchRules(List.of(2, 4, 8), 1_000, false));
    submit(1);
    laneAnswers();
    now.set(2_000);
    assertEquals(1, rows(take()));
  }
}
