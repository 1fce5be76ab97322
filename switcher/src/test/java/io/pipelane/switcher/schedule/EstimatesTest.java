package io.pipelane.switcher.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.InferenceRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class EstimatesTest {
  private static final long MILLISECOND = 1_000_000;

  private final AtomicLong stall = new AtomicLong();
  private final AtomicLong now = new AtomicLong();
  private final Estimates estimates =
      new Estimates(_ -> stall.get(), _ -> stall.get(), _ -> stall.get(), now::get);
  private final FirstComeFirstServed policy = new FirstComeFirstServed();
  private final Requests requests = new Requests(policy, estimates);
  private final RequestQueue queue = new RequestQueue(policy, estimates, 1, 10, 100, now::get);

  private QueuedRequest due(long deadlineNanos) {
    return requests.submitted("m", 0, OptionalLong.of(deadlineNanos));
  }

  @Test
  void isTooLate_firstRunWasSlow_nothingIsRefusedBeforeMoreIsKnown() {
    RunKey key = due(0).key();
    estimates.ran(key, 0, 0, 1_000_000, 0);
    assertFalse(estimates.isTooLate(due(10_000), 0));

    estimates.ran(key, 0, 0, 8_000, 0);
    estimates.ran(key, 0, 0, 9_000, 0);

    assertFalse(estimates.isTooLate(due(10_000), 0));
    assertTrue(estimates.isTooLate(due(7_000), 0));
  }

  @Test
  void ran_coldRun_doesNotCountAsTimeOfTheRun() {
    RunKey key = due(0).key();
    Requests.learn(estimates, "m", 1_000);

    estimates.ran(key, 5_000, 4_000, 5_000, 0);

    assertEquals(1_000, estimates.executionNanos(key));
  }

  /** One that never finds its weights there would be known by its very first run otherwise. */
  @Test
  void ran_alwaysCold_isCorrectedByLaterRunsUntilOneIsWarm() {
    RunKey key = due(0).key();
    estimates.ran(key, 0, 4_000, 1_004_000, 4_000);
    for (int i = 0; i < 50; i++) {
      estimates.ran(key, 5_000, 4_000, 6_000, 4_000);
    }
    assertEquals(2_000, estimates.executionNanos(key) / 100 * 100);
    assertEquals(0, estimates.history().of(key).leastNanos(0), "a warm run may take less");

    estimates.ran(key, 0, 0, 1_000, 0);
    assertEquals(1_000, estimates.executionNanos(key));
  }

  @Test
  void medianError_estimatesTenPercentShort_isThat() {
    RunKey key = due(0).key();
    estimates.ran(key, 0, 0, 1_000, 0);
    for (int i = 0; i < 5; i++) {
      estimates.ran(key, 900, 0, 1_000, 0);
    }

    assertEquals(0.1, estimates.medianError(), 1e-9);
  }

  @Test
  void submit_deadlineBeforeTheWeightsCanCome_isRefusedWithTheEstimate() {
    Requests.learn(estimates, "m", 2_000_000);
    stall.set(3_000_000);

    StatusException refusal =
        assertThrows(
            StatusException.class,
            () ->
                queue.submit(Requests.request("m", OptionalLong.of(4_000_000)), due(0).handler()));

    assertEquals(Status.UNAVAILABLE, refusal.status());
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains("needs about 5.0 ms") && message.contains("4.0 ms"), message);
    assertTrue(refusal.retryAfter() != null, "it says when to come back");
    assertEquals(0, queue.waiting());
  }

  @Test
  void isTooLate_stallThatIsNotCertain_refusesNobody() {
    stall.set(3_000_000);
    assertTrue(estimates.isTooLate(due(1_000_000), 0));
    Estimates uncertain = new Estimates(_ -> stall.get(), _ -> 900_000, _ -> stall.get(), now::get);
    assertFalse(uncertain.isTooLate(due(1_000_000), 0));
    assertTrue(uncertain.isTooLate(due(800_000), 0));
  }

  @Test
  void take_deadlineThatPassedInTheQueue_isRefusedAndNotRun() {
    queue.submit(Requests.request("m", OptionalLong.of(5_000)), due(0).handler());
    QueuedRequest next =
        queue.submit(Requests.request("m", OptionalLong.empty()), due(0).handler());
    now.set(6_000);

    assertEquals(next, queue.take());
    assertEquals(Status.UNAVAILABLE, requireFailure().status());
    assertEquals(0, queue.waiting());
  }

  /** As of a model on a machine that was busy for a while, and is idle again. */
  @Test
  void submit_runsHaveBecomeTooSlowForItsDeadline_isTriedAgainAfterAWhile() {
    Requests.learn(estimates, "m", 10 * MILLISECOND);
    int slow = 0;
    for (; !isRefused(20 * MILLISECOND); slow++) {
      run(25 * MILLISECOND);
      assertTrue(slow < 100, "never refused");
    }
    assertTrue(slow > 10, "one slow run refuses nobody");
    for (int i = 0; i < 99; i++) {
      now.addAndGet(100 * MILLISECOND);
      assertTrue(isRefused(20 * MILLISECOND), "most are refused while that may be so still");
    }
    now.addAndGet(100 * MILLISECOND);
    assertFalse(isRefused(20 * MILLISECOND));
    run(25 * MILLISECOND);
    assertTrue(isRefused(20 * MILLISECOND), "it is so still");

    now.addAndGet(10_000 * MILLISECOND);
    assertFalse(isRefused(20 * MILLISECOND));
    run(10 * MILLISECOND);
    assertFalse(isRefused(20 * MILLISECOND), "it is no more");
  }

  private boolean isRefused(long timeoutNanos) {
    try {
      queue.submit(Requests.request("m", OptionalLong.of(now.get() + timeoutNanos)), new Ignored());
      return false;
    } catch (StatusException e) {
      return true;
    }
  }

  private void run(long nanos) {
    QueuedRequest next = Objects.requireNonNull(queue.take());
    estimates.ran(next.key(), 0, 0, nanos, 0);
  }

  /** Whatever runs are said to have taken, and to have waited. */
  @Test
  void estimates_anyHistory_areNeverNegative() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    for (int history = 0; history < 1_000; history++) {
      PastRuns past = new PastRuns();
      for (int step = 0; step < 40; step++) {
        now.addAndGet(anyTime(random));
        stall.set(anyTime(random));
        estimates.ran(past, anyTime(random), anyTime(random), anyTime(random), anyTime(random));
        past.took(anyTime(random));
        long least = past.leastNanos(now.get());
        long later = past.leastNanos(now.get() + anyTime(random));
        assertTrue(0 <= later && later <= least, "seed " + seed);
        assertTrue(least / 2 <= past.usualNanos(), "seed " + seed);
        assertTrue(past.leastNanos(now.get() - anyTime(random)) >= 0, "seed " + seed);
        assertTrue(past.knownNanos() >= 0 && past.medianNanos() >= 0, "seed " + seed);
        assertTrue(past.peakBytes() >= 0, "seed " + seed);
      }
    }
  }

  /** Nothing, or from nanoseconds to hours. */
  private static long anyTime(Random random) {
    return random.nextInt(4) == 0 ? 0 : random.nextLong(1L << (1 + random.nextInt(44)));
  }

  private StatusException requireFailure() {
    StatusException failure = requests.failure;
    assertTrue(failure != null, "the late one was answered");
    return failure;
  }

  @Test
  void onWeightsMissed_isToldOfRequestsThatWeightsAloneMakeLate() {
    List<Priority> missed = new ArrayList<>();
    queue.onWeightsMissed(request -> missed.add(request.priority()));
    Requests.learn(estimates, "m", 1_000);
    stall.set(5_000);
    InferenceRequest late = due(3_000).request();
    refused(late);
    refused(late.offline());
    assertEquals(List.of(Priority.ONLINE, Priority.OFFLINE), missed);

    refused(due(500).request());
    for (int i = 0; i < 10; i++) {
      queue.submit(due(1_000_000).request(), new Ignored());
    }
    refused(due(1_000_000).request());
    assertEquals(2, missed.size(), "too late with its weights too, or no room in line");

    stall.set(0);
    refused(due(500).request());
    assertEquals(2, missed.size(), "nothing is missing");
  }

  private void refused(InferenceRequest request) {
    StatusException error =
        assertThrows(StatusException.class, () -> queue.submit(request, new Ignored()));
    assertEquals(Status.UNAVAILABLE, error.status());
  }
}
