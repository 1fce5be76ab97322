package io.pipelane.switcher.schedule.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.SharingConfig.Multiprocessors;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.policy.FirstComeFirstServed;
import io.pipelane.switcher.schedule.policy.Room;
import io.pipelane.switcher.schedule.policy.SchedulingPolicies;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import io.pipelane.switcher.sharing.gate.OnlineWork;
import io.pipelane.switcher.sharing.trial.ShareTrial;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RequestQueueTest {
  private static final InferenceTimings NO_TIME = new InferenceTimings(0, 0, 0);

  private final FirstComeFirstServed policy = new FirstComeFirstServed();
  private final RequestQueue queue =
      new RequestQueue(policy, new Estimates(_ -> 0), 1, 3, 100, () -> 42);

  /** Counts the answers of one request. */
  private static final class Answers implements ResultHandler {
    final AtomicInteger completed = new AtomicInteger();
    final AtomicInteger cancelled = new AtomicInteger();

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      throw new AssertionError("nothing is run here");
    }

    @Override
    public void completed(InferenceTimings timings) {
      completed.incrementAndGet();
    }

    @Override
    public void failed(StatusException error) {
      assertEquals(Status.CANCELLED, error.status());
      cancelled.incrementAndGet();
    }

    int all() {
      return completed.get() + cancelled.get();
    }
  }

  private static InferenceRequest request(int bytes) {
    MemorySegment data = MemorySegment.ofArray(new byte[bytes]);
    return new InferenceRequest(
        new ModelVersion("m", 1),
        List.of(new InputTensor("x", TensorType.UINT8, Shape.of(bytes), data)),
        List.of());
  }

  private QueuedRequest submit(int bytes) {
    return queue.submit(request(bytes), new Answers());
  }

  private void requireFull(int bytes) {
    StatusException error = assertThrows(StatusException.class, () -> submit(bytes));
    assertEquals(Status.UNAVAILABLE, error.status());
    assertTrue(error.retryAfter() != null, "it says when to come back");
  }

  @Test
  void take_givesRequestsInTheOrderOfTheirComing() {
    List<QueuedRequest> submitted = List.of(submit(1), submit(1), submit(1));
    for (QueuedRequest request : submitted) {
      assertSame(request, queue.take());
      assertEquals(42, request.submittedNanos());
    }
    assertEquals(0, queue.waiting());
  }

  @Test
  void close_whileARunIsInTheShare_itMayStillBeGivenBack() throws Exception {
    Estimates estimates = new Estimates(_ -> 0);
    RequestQueue shared =
        new RequestQueue(
            SchedulingPolicies.of(
                PipelaneConfig.of(Map.of("scheduling.policy", "fifo")).scheduling(),
                estimates,
                new Room(estimates, Long.MAX_VALUE, () -> Long.MAX_VALUE)),
            estimates,
            1,
            3,
            100,
            () -> 42);
    QueuedRequest submitted = shared.submit(request(1).offline(), new Answers());
    assertSame(submitted, shared.takeForShare(_ -> true, () -> true));
    shared.close();
    try (ExecutorService lane = Executors.newSingleThreadExecutor()) {
      Future<@Nullable QueuedRequest> again = lane.submit(shared::take);
      while (shared.idle() == 0) {
        assertFalse(again.isDone(), "nobody is left to take it");
        Thread.onSpinWait();
      }
      shared.returned().giveBack(submitted);
      assertSame(submitted, again.get());
      Future<@Nullable QueuedRequest> last = lane.submit(shared::take);
      assertNull(shared.takeForShare(_ -> true, () -> true));
      assertNull(last.get());
    }
  }

  /** As one whose batch failed, or that made way, in a lane before the share was opened. */
  @Test
  void giveBack_offlineRequestWhileTheShareIsTheOnlyWay_isTakenThere() throws Exception {
    Estimates estimates = new Estimates(_ -> 0);
    ShareTrial open = ShareTrial.of(Multiprocessors.ALWAYS, List.of(10), 10, 1);
    OfflineGate gate = new OfflineGate(false, 0, 1, new OnlineWork(), open, () -> 42);
    RequestQueue shared =
        new RequestQueue(
            SchedulingPolicies.of(
                PipelaneConfig.of(Map.of("scheduling.policy", "fifo")).scheduling(),
                estimates,
                new Room(estimates, Long.MAX_VALUE, () -> Long.MAX_VALUE),
                gate),
            estimates,
            1,
            3,
            100,
            () -> 42);
    QueuedRequest claimed = shared.past(request(1).offline(), new Answers());
    CompletableFuture<Thread> waiting = new CompletableFuture<>();
    try (ExecutorService share = Executors.newSingleThreadExecutor()) {
      Future<@Nullable QueuedRequest> taken =
          share.submit(
              () -> {
                waiting.complete(Thread.currentThread());
                return shared.takeForShare(_ -> true, gate.share()::mayBegin);
              });
      while (waiting.get().getState() != Thread.State.WAITING) {
        Thread.onSpinWait();
      }
      shared.returned().giveBack(claimed);
      assertSame(claimed, taken.get());
    }
    assertTrue(shared.isEmpty());
  }

  /** What they waited for is gone. */
  @Test
  void refuseAll_ofWhatWasToRunAgain_endsTheThreadsOfAQueueThatIsClosed() throws Exception {
    Estimates estimates = new Estimates(_ -> 0);
    OnlineWork online = new OnlineWork();
    OfflineGate gate = new OfflineGate(true, 0, 1, online, () -> 42);
    RequestQueue held =
        new RequestQueue(
            SchedulingPolicies.of(
                PipelaneConfig.defaults().scheduling(),
                estimates,
                new Room(estimates, Long.MAX_VALUE, () -> Long.MAX_VALUE),
                gate),
            estimates,
            1,
            3,
            100,
            () -> 42);
    ResultHandler other = online.begin(new Ignored());
    held.returned().giveBack(held.past(request(1).offline(), new Ignored()));
    held.close();
    try (ExecutorService lane = Executors.newSingleThreadExecutor()) {
      Future<@Nullable QueuedRequest> taken = lane.submit(held::take);
      while (held.idle() == 0) {
        Thread.onSpinWait();
      }
      held.refuseAll("no lane is left for it");
      assertNull(taken.get());
    }
    other.completed(new InferenceTimings(0, 0, 0));
  }

  @Test
  void submit_beyondTheCount_isRefusedUntilOneLeaves() {
    submit(1);
    QueuedRequest second = submit(1);
    submit(1);
    requireFull(1);
    second.cancel();
    submit(1);
    requireFull(1);
    queue.take();
    submit(1);
  }

  @Test
  void submit_beyondTheBytes_isRefusedUntilTheyAreFree() {
    QueuedRequest large = submit(60);
    submit(40);
    requireFull(1);
    large.cancel();
    requireFull(61);
    submit(60);
  }

  @Test
  void submit_largerThanTheQueue_isTooLargeForEver() {
    StatusException error = assertThrows(StatusException.class, () -> submit(101));
    assertEquals(Status.TOO_LARGE, error.status());
    String message = String.valueOf(error.getMessage());
    assertTrue(message.contains("m/1 have 101B, queue.max-bytes is 100B"), message);
    submit(100);
    requireFull(100);
  }

  @Test
  void submit_largerThanItsModelsQueue_isTooLargeForEver() {
    ModelOptions.Limits none = ModelOptions.DEFAULT.limits();
    ModelOptions.Limits limits =
        new ModelOptions.Limits(
            none.queuedRequests(),
            Optional.of(new ByteSize(60)),
            none.requestSize(),
            none.timeout(),
            none.maxSlowdown());
    queue.agree(new ModelVersion("m", 1), new Terms(limits, BatchRules.NONE, 0));
    StatusException error = assertThrows(StatusException.class, () -> submit(61));
    assertEquals(Status.TOO_LARGE, error.status());
    String message = String.valueOf(error.getMessage());
    assertTrue(message.contains("61B, limits.queued-size is 60B"), message);
    submit(60);
    requireFull(1);
  }

  @Test
  void cancel_beforeTheStart_answersOnceAndLeavesNothingInLine() {
    Answers answers = new Answers();
    QueuedRequest request = queue.submit(request(1), answers);
    QueuedRequest next = submit(1);
    request.cancel();
    request.cancel();
    assertEquals(1, answers.cancelled.get());
    assertEquals(1, queue.waiting());
    assertSame(next, queue.take());
    assertEquals(0, queue.waiting());
  }

  /** Withdrawn requests count for no bound, so the line must not keep them. */
  @Test
  void cancel_manyWhileNobodyTakes_policyHoldsNone() {
    for (int i = 0; i < 10_000; i++) {
      submit(1).cancel();
    }
    assertNull(policy.poll(0));
  }

  @Test
  void withdraw_afterTheStart_changesNothing() {
    Answers answers = new Answers();
    QueuedRequest request = queue.submit(request(1), answers);
    assertSame(request, queue.take());
    request.withdraw();
    request.requireWanted();
    assertEquals(0, answers.all());
    assertEquals(0, queue.waiting());
  }

  @Test
  void cancel_afterTheStart_hasWhoeverRunsItEndIt() {
    Answers answers = new Answers();
    QueuedRequest request = queue.submit(request(1), answers);
    assertSame(request, queue.take());
    AtomicInteger told = new AtomicInteger();
    request.whenUnwanted(told::incrementAndGet);
    request.cancel();
    request.cancel();
    assertEquals(1, told.get());
    assertEquals(0, answers.all(), "its run tells the end");
    StatusException reason = assertThrows(StatusException.class, request::requireWanted);
    assertEquals(Status.CANCELLED, reason.status());
  }

  @Test
  void cancel_ofOneThatIsToRunAgain_endsItAtOnce() {
    Answers answers = new Answers();
    QueuedRequest request = queue.submit(request(1), answers);
    assertSame(request, queue.take());
    assertTrue(queue.returned().again(List.of(request)));
    request.cancel();
    assertEquals(1, answers.cancelled.get());
    assertTrue(queue.isEmpty());
  }

  @Test
  void close_refusesNewOnesAndDrainsTheRest() {
    QueuedRequest request = submit(1);
    queue.close();
    requireFull(1);
    assertSame(request, queue.take());
    assertNull(queue.take());
  }

  @Test
  void manyProducersAndConsumers_everyRequestIsAnsweredExactlyOnce() throws Exception {
    List<Answers> all = new ArrayList<>();
    AtomicInteger refused = new AtomicInteger();
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      List<Future<?>> consumers = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        consumers.add(threads.submit(this::consume));
      }
      List<Future<List<Answers>>> producers = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        boolean cancels = i % 2 == 0;
        producers.add(threads.submit(() -> produce(cancels, refused)));
      }
      for (Future<List<Answers>> producer : producers) {
        all.addAll(producer.get());
      }
      queue.close();
      for (Future<?> consumer : consumers) {
        consumer.get();
      }
    }
    assertEquals(4 * 500, all.size());
    assertTrue(all.stream().allMatch(answers -> answers.all() == 1), "exactly one answer each");
    assertEquals(0, queue.waiting());
  }

  private void consume() {
    @Nullable QueuedRequest next = queue.take();
    while (next != null) {
      next.handler().completed(NO_TIME);
      next = queue.take();
    }
  }

  private List<Answers> produce(boolean cancels, AtomicInteger refused) {
    List<Answers> accepted = new ArrayList<>();
    while (accepted.size() < 500) {
      Answers answers = new Answers();
      try {
        QueuedRequest request = queue.submit(request(20), answers);
        accepted.add(answers);
        if (cancels && accepted.size() % 3 == 0) {
          request.cancel();
        }
      } catch (StatusException e) {
        refused.incrementAndGet();
        while (queue.waiting() > 0) {
          Thread.onSpinWait();
        }
      }
    }
    return accepted;
  }
}
