package io.pipelane.switcher.schedule.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Limits;
import io.pipelane.modelstore.repository.ModelOptions.OwnTimes;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.RunKey;
import io.pipelane.switcher.schedule.policy.FirstComeFirstServed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LatenessTest {
  private static final long MILLISECOND = 1_000_000;

  private final AtomicLong stall = new AtomicLong();
  private final AtomicLong now = new AtomicLong();
  private final Estimates estimates =
      new Estimates(_ -> stall.get(), _ -> stall.get(), _ -> stall.get(), now::get);
  private final Deadlines deadlines = new Deadlines(estimates);
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
    assertFalse(deadlines.isTooLate(due(10_000), 0));

    estimates.ran(key, 0, 0, 8_000, 0);
    estimates.ran(key, 0, 0, 9_000, 0);

    assertFalse(deadlines.isTooLate(due(10_000), 0));
    assertTrue(deadlines.isTooLate(due(7_000), 0));
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
  void submit_needsLessThanATenthOfAMillisecond_isToldHowMuch() {
    Requests.learn(estimates, "short", 31_000);
    assertTold("short/1 needs about 0.031 ms, and its timeout leaves 0.020 ms", "short", 20_000);
  }

  @Test
  void submit_nothingIsKnownOfItsRuns_isToldNoNumber() {
    assertTold(
        "the timeout of this request for new/1 has passed, 2.5 ms ago; raise", "new", -2_500_000);
  }

  private void assertTold(String beginning, String model, long leftNanos) {
    InferenceRequest request = Requests.request(model, OptionalLong.of(now.get() + leftNanos));
    StatusException refusal =
        assertThrows(StatusException.class, () -> queue.submit(request, due(0).handler()));
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.startsWith(beginning), message);
    assertFalse(message.contains(" 0.0 "), message);
  }

  @Test
  void isTooLate_stallThatIsNotCertain_refusesNobody() {
    stall.set(3_000_000);
    assertTrue(deadlines.isTooLate(due(1_000_000), 0));
    Deadlines uncertain =
        new Deadlines(new Estimates(_ -> stall.get(), _ -> 900_000, _ -> stall.get(), now::get));
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

  /** However long its run takes, of which nothing is estimated. */
  @Test
  void take_waitedLongerThanItsModelsRequestsMay_isRefused() {
    Requests.learn(estimates, "m", 100 * MILLISECOND);
    queue.agree(new ModelVersion("m", 1), new Terms(queueing(MILLISECOND), BatchRules.NONE, 0));
    queue.submit(Requests.request("m", OptionalLong.empty()), due(0).handler());
    now.set(MILLISECOND);
    QueuedRequest inTime =
        queue.submit(Requests.request("m", OptionalLong.empty()), due(0).handler());
    InferenceRequest offline =
        Requests.request("m", OptionalLong.empty()).inClass(Priority.OFFLINE);
    now.set(2 * MILLISECOND);

    assertEquals(inTime, queue.take());
    StatusException refusal = requireFailure();
    assertEquals(Status.UNAVAILABLE, refusal.status());
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains("has waited 2.0 ms for its turn"), message);
    assertTrue(refusal.retryAfter() != null, "it says when to come back");
    QueuedRequest held = queue.submit(offline, due(0).handler());
    now.set(200 * MILLISECOND);
    assertEquals(held, queue.take(), "offline work waits for as long as online work lasts");
  }

  private static Limits queueing(long nanos) {
    return new Limits(
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        OwnTimes.NONE,
        Optional.of(Duration.ofNanos(nanos)));
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
