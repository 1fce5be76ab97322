package io.pipelane.switcher.schedule.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.RunKey;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.Requests;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ShortestRemainingFirstTest {
  private static final double AGEING = 0.1;

  private final Map<String, Long> stalls = new HashMap<>();
  private final Estimates estimates = new Estimates(this::stall);
  private final ShortestRemainingFirst policy = new ShortestRemainingFirst(estimates, AGEING);
  private final Requests requests = new Requests(policy, estimates);

  private long stall(ModelVersion model) {
    return stalls.getOrDefault(model.model(), 0L);
  }

  private QueuedRequest add(String model, long nowNanos, OptionalLong deadlineNanos) {
    QueuedRequest request = requests.submitted(model, nowNanos, deadlineNanos);
    policy.add(request);
    return request;
  }

  private QueuedRequest add(String model, long nowNanos) {
    return add(model, nowNanos, OptionalLong.empty());
  }

  private QueuedRequest next(long nowNanos) {
    return Objects.requireNonNull(policy.poll(nowNanos));
  }

  @Test
  void poll_longThatIsThereAndShortThatIsNot_countsTheStall() {
    Requests.learn(estimates, "there", 5_000);
    Requests.learn(estimates, "missing", 1_000);
    stalls.put("missing", 6_000L);
    QueuedRequest missing = add("missing", 0);
    QueuedRequest there = add("there", 0);

    assertSame(there, next(0));
    assertSame(missing, next(0));
  }

  /** It wants a gain of half a millisecond. */
  @Test
  void goesBeforeRun_otherKindThatNeedsMuchLess_does() {
    QueuedRequest waiting = requests.submitted("waits", 0);
    QueuedRequest run = requests.submitted("runs", 0);
    assertTrue(policy.goesBeforeRun(waiting, 1_000_000, run, 1_600_000, 0));
    assertFalse(policy.goesBeforeRun(waiting, 1_000_000, run, 1_400_000, 0));
    assertFalse(policy.goesBeforeRun(requests.submitted("runs", 0), 1_000_000, run, 10_000_000, 0));
  }

  @Test
  void poll_deadlineThatCannotWaitForTheShorter_goesAhead() {
    Requests.learn(estimates, "short", 1_000);
    Requests.learn(estimates, "long", 5_000);
    QueuedRequest shorter = add("short", 0);
    QueuedRequest due = add("long", 0, OptionalLong.of(5_500));

    assertSame(due, next(0));
    assertSame(shorter, next(5_000));
  }

  /** It has to begin later than another one, but must have its weights before. */
  @Test
  void poll_deadlineThatItsStallMakesUrgent_goesAheadOfEarlierOnes() {
    Requests.learn(estimates, "short", 1_000);
    Requests.learn(estimates, "there", 10_000);
    Requests.learn(estimates, "missing", 10_000);
    stalls.put("missing", 5_000L);
    QueuedRequest shorter = add("short", 0);
    QueuedRequest there = add("there", 0, OptionalLong.of(15_500));
    QueuedRequest missing = add("missing", 0, OptionalLong.of(15_600));

    assertSame(missing, next(0));
    assertSame(there, next(15_000));
    assertSame(shorter, next(25_000));
  }

  @Test
  void poll_deadlineWithSlack_waitsForTheShorter() {
    Requests.learn(estimates, "short", 1_000);
    Requests.learn(estimates, "long", 5_000);
    QueuedRequest due = add("long", 0, OptionalLong.of(7_000));
    QueuedRequest shorter = add("short", 0);

    assertSame(shorter, next(0));
    assertSame(due, next(1_000));
  }

  /** Salus §4.2: shortest first has the least mean completion time of all orders. */
  @Test
  void poll_requestsWithoutDeadlines_haveTheLeastMeanCompletionOfAllOrders() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    for (int round = 0; round < 50; round++) {
      List<Long> times = new ArrayList<>();
      ShortestRemainingFirst fresh = new ShortestRemainingFirst(estimates, AGEING);
      int count = 1 + random.nextInt(7);
      for (int i = 0; i < count; i++) {
        String model = "model-%d-%d".formatted(round, i);
        long nanos = 1L + random.nextInt(1_000);
        Requests.learn(estimates, model, nanos);
        times.add(nanos);
        fresh.add(requests.submitted(model, 0));
      }
      long now = 0;
      long sum = 0;
      for (QueuedRequest next = fresh.poll(now); next != null; next = fresh.poll(now)) {
        now += estimates.executionNanos(next.key());
        sum += now;
      }
      assertEquals(leastSum(times, new ArrayList<>()), sum, "seed " + seed);
    }
  }

  private static long leastSum(List<Long> left, List<Long> order) {
    if (left.isEmpty()) {
      long now = 0;
      long sum = 0;
      for (long nanos : order) {
        now += nanos;
        sum += now;
      }
      return sum;
    }
    long least = Long.MAX_VALUE;
    for (int i = 0; i < left.size(); i++) {
      List<Long> rest = new ArrayList<>(left);
      order.addLast(rest.remove(i));
      least = Math.min(least, leastSum(rest, order));
      order.removeLast();
    }
    return least;
  }

  /** Each in time alone, and more of them than can run. */
  @Test
  void poll_deadlinesThatRunOutAllTheTime_noneGoesAheadOfTwoRunsOfWhoHasWaited() {
    Requests.learn(estimates, "short", 10_000);
    Requests.learn(estimates, "long", 100_000);
    QueuedRequest waits = add("long", 0);
    long bound = (long) (100_000 / AGEING);
    long arrival = 0;
    for (long now = 0; ; now += 10_000) {
      for (; arrival <= now; arrival += 9_000) {
        add("short", arrival, OptionalLong.of(arrival + 45_000));
      }
      if (next(now) == waits) {
        assertTrue(now >= bound - 10_000, "urgent ones go ahead until then");
        return;
      }
      assertTrue(now <= bound + 10_000, "overtaken after its bound");
    }
  }

  @Test
  void poll_manyHaveWaitedForLong_everySecondRunIsOfOneThatWouldMissItsDeadline() {
    Requests.learn(estimates, "short", 10_000);
    for (int i = 0; i < 10; i++) {
      add("short", 0);
    }
    long now = 1_000_000;
    int due = 0;
    for (int i = 0; i < 10; i++) {
      QueuedRequest urgent = add("urgent", now, OptionalLong.of(now));
      due += next(now) == urgent ? 1 : 0;
      policy.remove(urgent);
      now += 10_000;
    }
    assertEquals(5, due);
  }

  @Test
  void interrupting_deadlineThatRunsOut_isHeededByARunThatHasNotWaitedForItsBound() {
    long millis = 1_000_000;
    Requests.learn(estimates, "short", 10 * millis);
    Requests.learn(estimates, "long", 100 * millis);
    QueuedRequest run = requests.submitted("long", 0);
    QueuedRequest urgent = add("short", 0, OptionalLong.of(11 * millis));
    assertSame(urgent, policy.interrupting(run, 100 * millis, 0));
    assertNull(policy.interrupting(run, 1 * millis, 10 * millis), "it is done, or has waited so");

    Requests.learn(estimates, "other", 100 * millis);
    QueuedRequest waits = add("other", -2_000 * millis);
    assertSame(waits, policy.interrupting(run, 100 * millis, 0), "who waits has waited so");
  }

  /** The bound that the class states. */
  @Test
  void poll_moreShortOnesThanCanRun_nobodyIsOvertakenByThoseWhoComeAfterItsBound() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    Requests.learn(estimates, "short", 10_000);
    Requests.learn(estimates, "long", 1_000_000);
    Map<RunKey, Set<QueuedRequest>> waiting = new HashMap<>();
    long now = 0;
    long arrival = 0;
    for (int ran = 0; ran < 20_000; ran++) {
      for (; arrival <= now; arrival += random.nextInt(18_000)) {
        QueuedRequest came = add(random.nextInt(500) == 0 ? "long" : "short", arrival);
        waiting.computeIfAbsent(came.key(), _ -> new LinkedHashSet<>()).add(came);
      }
      @Nullable QueuedRequest next = policy.poll(now);
      if (next == null) {
        now = arrival;
        continue;
      }
      waiting.getOrDefault(next.key(), Set.of()).remove(next);
      waiting.forEach(
          (key, ofOneKind) -> {
            double bound = estimates.remainingNanos(key) / AGEING;
            assertTrue( // The first has come before the others, and needs as much.
                ofOneKind.stream()
                    .limit(1)
                    .allMatch(first -> next.submittedNanos() <= first.submittedNanos() + bound),
                () -> "overtaken after its bound, seed " + seed);
          });
      now += estimates.executionNanos(next.key());
    }
  }
}
