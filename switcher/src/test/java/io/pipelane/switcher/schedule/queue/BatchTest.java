package io.pipelane.switcher.schedule.queue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.RunPlace;
import io.pipelane.switcher.schedule.estimate.RunKey;
import io.pipelane.switcher.schedule.policy.Room;
import io.pipelane.switcher.schedule.policy.SchedulingPolicies;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class BatchTest extends BatchFixture {
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
}
