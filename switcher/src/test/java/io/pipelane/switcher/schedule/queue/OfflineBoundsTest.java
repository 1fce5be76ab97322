package io.pipelane.switcher.schedule.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
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
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.policy.Room;
import io.pipelane.switcher.schedule.policy.SchedulingPolicies;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Offline requests in a queue of eight requests and 100 bytes. */
class OfflineBoundsTest {
  private final Estimates estimates = new Estimates(_ -> 0);
  private final RequestQueue queue =
      new RequestQueue(
          SchedulingPolicies.of(
              PipelaneConfig.of(Map.of("scheduling.policy", "fifo")).scheduling(),
              estimates,
              new Room(estimates, Long.MAX_VALUE, () -> Long.MAX_VALUE)),
          estimates,
          1,
          8,
          100,
          () -> 0);

  /** How one request ended. */
  private static final class End implements ResultHandler {
    volatile @Nullable StatusException error;

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      throw new AssertionError("nothing is run here");
    }

    @Override
    public void completed(InferenceTimings timings) {
      throw new AssertionError("nothing is run here");
    }

    @Override
    public void failed(StatusException failure) {
      assertEquals(null, error, "it ends once");
      error = failure;
    }

    Status status() {
      return Objects.requireNonNull(error).status();
    }
  }

  private static InferenceRequest request(String model, int bytes) {
    MemorySegment data = MemorySegment.ofArray(new byte[bytes]);
    return new InferenceRequest(
        new ModelVersion(model, 1),
        List.of(new InputTensor("x", TensorType.UINT8, Shape.of(bytes), data)),
        List.of());
  }

  private End online(String model, int bytes) {
    End end = new End();
    queue.submit(request(model, bytes), end);
    return end;
  }

  private End offline(String model, int bytes) {
    End end = new End();
    queue.submit(request(model, bytes).offline(), end);
    return end;
  }

  private void requireFullForOffline(String model, int bytes) {
    StatusException refusal = assertThrows(StatusException.class, () -> offline(model, bytes));
    assertEquals(Status.UNAVAILABLE, refusal.status());
    assertTrue(String.valueOf(refusal.getMessage()).contains("half"), refusal.getMessage());
  }

  @Test
  void submit_manyOffline_leaveHalfThePlacesToOnline() {
    for (int i = 0; i < 4; i++) {
      End _ = offline("m", 1);
    }
    requireFullForOffline("m", 1);
    for (int i = 0; i < 4; i++) {
      End _ = online("m", 1);
    }
    assertThrows(StatusException.class, () -> online("m", 1));
  }

  @Test
  void submit_largeOffline_leaveHalfTheBytesToOnline() {
    End _ = offline("m", 50);
    requireFullForOffline("m", 1);
    End _ = online("m", 50);
  }

  @Test
  void submit_offlineLeaves_othersComeIn() {
    End _ = offline("m", 50);
    requireFullForOffline("m", 10);
    Objects.requireNonNull(queue.take());
    End _ = offline("m", 50);
  }

  @Test
  void submit_manyOfflineOfOneModel_leaveHalfOfItsBoundToOnline() {
    ModelOptions.Limits none = ModelOptions.DEFAULT.limits();
    ModelOptions.Limits limits =
        new ModelOptions.Limits(
            Optional.of(2),
            none.queuedSize(),
            none.requestSize(),
            none.timeout(),
            none.maxSlowdown());
    queue.agree(new ModelVersion("m", 1), new Terms(limits, BatchRules.NONE, 0));
    End _ = offline("m", 1);
    requireFullForOffline("m", 1);
    End _ = online("m", 1);
    assertThrows(StatusException.class, () -> online("m", 1));
    End _ = offline("another", 1);
  }

  @Test
  void leave_offlineThatWait_areRefusedAtOnce_andSoAreThoseThatCome() {
    List<End> refused = new ArrayList<>(List.of(offline("m", 1), offline("m", 1)));
    End other = offline("other", 1);
    End online = online("m", 1);
    queue.leave(new ModelVersion("m", 1));
    for (End end : refused) {
      assertEquals(Status.UNAVAILABLE, end.status());
      assertNotNull(Objects.requireNonNull(end.error).retryAfter());
    }
    assertEquals(2, queue.waiting());
    assertEquals(
        Status.NOT_FOUND, assertThrows(StatusException.class, () -> offline("m", 1)).status());
    assertEquals(null, online.error);
    assertEquals(null, other.error);
    End _ = online("m", 1);
    queue.forget(new ModelVersion("m", 1));
    End _ = offline("m", 1);
  }

  @Test
  void leave_offlineThatAreToRunAgain_areRefused_andThoseThatRunEnd() {
    End again = offline("m", 1);
    End runs = offline("m", 1);
    QueuedRequest first = Objects.requireNonNull(queue.take());
    QueuedRequest second = Objects.requireNonNull(queue.take());
    assertTrue(queue.returned().again(List.of(first)));
    queue.leave(new ModelVersion("m", 1));
    assertEquals(Status.UNAVAILABLE, again.status());
    assertTrue(queue.isEmpty());
    assertTrue(second.isUnwanted());
    assertEquals(
        Status.UNAVAILABLE, assertThrows(StatusException.class, second::requireWanted).status());
    assertEquals(null, runs.error, "its run tells the end");
  }

  @Test
  void giveBack_itsModelHasLeftMeanwhile_endsIt() {
    End end = offline("m", 1);
    QueuedRequest claimed = Objects.requireNonNull(queue.take());
    queue.leave(new ModelVersion("m", 1));
    queue.returned().giveBack(claimed);
    assertEquals(Status.UNAVAILABLE, end.status());
    assertTrue(queue.isEmpty());
  }

  @Test
  void giveBack_itsCallerHasGoneMeanwhile_endsIt() {
    End end = offline("m", 1);
    QueuedRequest claimed = Objects.requireNonNull(queue.take());
    claimed.cancel();
    assertNull(end.error, "whoever has it tells the end");
    queue.returned().giveBack(claimed);
    assertEquals(Status.CANCELLED, end.status());
    assertTrue(queue.isEmpty());
  }

  /** Whichever is first, each request ends once, and nothing is left to run. */
  @Test
  @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void claimedRequestsComeBackWhileTheirModelLeaves_eachEndsOnce() throws Exception {
    int rounds = 2_000;
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      for (int round = 0; round < rounds; round++) {
        ModelVersion model = new ModelVersion("m" + round, 1);
        List<End> ends = List.of(offline(model.model(), 1), offline(model.model(), 1));
        QueuedRequest alone = Objects.requireNonNull(queue.take());
        QueuedRequest ofBatch = Objects.requireNonNull(queue.take());
        CyclicBarrier together = new CyclicBarrier(3);
        Future<?> back =
            threads.submit(
                () -> {
                  await(together);
                  queue.returned().giveBack(alone);
                  assertTrue(queue.returned().again(List.of(ofBatch)));
                });
        Future<?> goes =
            threads.submit(
                () -> {
                  await(together);
                  ofBatch.cancel();
                });
        await(together);
        queue.leave(model);
        back.get();
        goes.get();
        assertTrue(queue.isEmpty());
        assertEquals(Status.UNAVAILABLE, ends.getFirst().status());
        assertTrue(Set.of(Status.UNAVAILABLE, Status.CANCELLED).contains(ends.getLast().status()));
        queue.forget(model);
      }
    }
  }

  private static void await(CyclicBarrier barrier) {
    try {
      barrier.await();
    } catch (InterruptedException | BrokenBarrierException e) {
      throw new AssertionError("nobody breaks it", e);
    }
  }

  @Test
  void batch_someMembersGo_runsOn_andEndsWithTheLast() {
    End first = new End();
    End second = new End();
    QueuedRequest one = queue.submit(request("m", 1), first);
    QueuedRequest two = queue.submit(request("m", 1), second);
    QueuedRequest batch = Batch.of(queue, started(one, two));
    one.cancel();
    batch.requireWanted();
    two.cancel();
    StatusException end = assertThrows(StatusException.class, batch::requireWanted);
    batch.handler().failed(end);
    assertEquals(Status.CANCELLED, first.status());
    assertEquals(Status.CANCELLED, second.status());
    assertTrue(queue.isEmpty(), "nobody wants them to run again");
  }

  @Test
  void batch_failsWhereOneMemberHasGone_onlyTheOtherRunsAgain() {
    End first = new End();
    End second = new End();
    QueuedRequest one = queue.submit(request("m", 1), first);
    QueuedRequest two = queue.submit(request("m", 1), second);
    QueuedRequest batch = Batch.of(queue, started(one, two));
    one.cancel();
    batch.handler().failed(new StatusException(Status.INTERNAL, "a fault"));
    assertTrue(Optional.ofNullable(first.error).isPresent());
    assertFalse(queue.isEmpty());
    assertSame(two, queue.take());
    assertEquals(null, second.error);
  }

  private List<QueuedRequest> started(QueuedRequest... requests) {
    for (QueuedRequest request : requests) {
      assertSame(request, queue.take());
    }
    return List.of(requests);
  }
}
