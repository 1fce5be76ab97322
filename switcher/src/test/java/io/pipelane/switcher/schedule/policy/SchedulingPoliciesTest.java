package io.pipelane.switcher.schedule.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.Requests;
import io.pipelane.switcher.schedule.queue.SchedulingPolicy;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SchedulingPoliciesTest {
  private static final List<String> MODELS = List.of("a", "b", "c", "d");
  private static final int SCHEDULES = 10_000;

  private final Estimates estimates = new Estimates(model -> model.model().equals("c") ? 700 : 0);

  private static SchedulingConfig config(SchedulingConfig.Policy name) {
    return PipelaneConfig.of(Map.of("scheduling.policy", name.toString())).scheduling();
  }

  private SchedulingPolicy policy(SchedulingConfig config) {
    return SchedulingPolicies.of(
        config, estimates, new Room(estimates, Long.MAX_VALUE, () -> Long.MAX_VALUE));
  }

  /** Online requests as they come, and the share of offline ones. */
  private static SchedulingPolicy classes(
      SchedulingPolicy offline, Estimates estimates, double offlineShare) {
    return new PriorityClasses(
        new FirstComeFirstServed(), offline, estimates, offlineShare, OfflineGate.open(() -> 0));
  }

  @ParameterizedTest
  @EnumSource(SchedulingConfig.Policy.class)
  void poll_anySchedule_givesEachRequestOnceUnlessItIsWithdrawn(SchedulingConfig.Policy name) {
    for (int i = 0; i < MODELS.size(); i++) {
      Requests.learn(estimates, MODELS.get(i), 100L << (2 * i));
    }
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    SchedulingConfig config = config(name);
    for (int schedule = 0; schedule < SCHEDULES; schedule++) {
      SchedulingPolicy policy = policy(config);
      Requests requests = new Requests(policy, estimates);
      Set<QueuedRequest> waiting = new HashSet<>();
      long now = 0;
      for (int step = 0; step < 12; step++) {
        now += random.nextInt(2_000);
        switch (random.nextInt(4)) {
          case 0, 1 -> {
            QueuedRequest request = arrival(requests, now, random);
            policy.add(request);
            waiting.add(request);
          }
          case 2 -> {
            if (!waiting.isEmpty()) {
              QueuedRequest withdrawn = waiting.iterator().next();
              policy.remove(withdrawn);
              waiting.remove(withdrawn);
            }
          }
          default -> requireOneOf(waiting, policy, now, seed);
        }
        assertTrue(waiting.containsAll(policy.first(3, now)), () -> "seed " + seed);
      }
      while (!waiting.isEmpty()) {
        requireOneOf(waiting, policy, now, seed);
      }
      assertEquals(null, policy.poll(now), () -> "seed " + seed);
    }
  }

  private static QueuedRequest arrival(Requests requests, long now, Random random) {
    OptionalLong deadline =
        random.nextBoolean() ? OptionalLong.empty() : OptionalLong.of(now + random.nextInt(5_000));
    return requests.submitted(MODELS.get(random.nextInt(MODELS.size())), now, deadline);
  }

  private static void requireOneOf(
      Set<QueuedRequest> waiting, SchedulingPolicy policy, long now, long seed) {
    @Nullable QueuedRequest next = policy.poll(now);
    assertEquals(waiting.isEmpty(), next == null, () -> "seed " + seed);
    if (next != null) {
      assertTrue(waiting.remove(next), () -> "given twice, or withdrawn; seed " + seed);
    }
  }

  /** Else what has failed in a share of the device would wait for as long as others come. */
  @Test
  void offlineRequestThatWaitsAgain_earnsItsCreditFromOnlineRuns() {
    Estimates estimates = new Estimates(_ -> 0);
    Requests.learn(estimates, "m", 1_000_000);
    SchedulingPolicy policy = classes(new FirstComeFirstServed(), estimates, 0.25);
    Requests requests = new Requests(policy, estimates);
    QueuedRequest again = requests.offline("m", 0);
    int onlineRuns = 0;
    policy.add(requests.submitted("m", 0));
    while (!policy.takeAgain(again, 0)) {
      assertTrue(policy.poll(0) != null);
      onlineRuns++;
      assertTrue(onlineRuns < 10, "it starves");
      policy.add(requests.submitted("m", 0));
    }
    assertEquals(3, onlineRuns);
    policy.poll(0);
    policy.add(requests.submitted("m", 0));
    assertFalse(policy.takeAgain(requests.offline("m", 0), 0), "credit is earned while it waits");
  }

  /** A long offline request, and what online runs before it have earned: all but a little. */
  private static final class Credit {
    final Estimates known = new Estimates(_ -> 0);
    final SchedulingPolicy policy = classes(new FirstComeFirstServed(), known, 0.5);
    final Requests requests = new Requests(policy, known);
    final QueuedRequest big;

    Credit() {
      Requests.learn(known, "big", 1_000_000_000);
      Requests.learn(known, "small", 1_000_000);
      Requests.learn(known, "online", 1_000_000);
      big = requests.offline("big", 0);
      policy.add(big);
      for (int i = 0; i < 990; i++) {
        policy.add(requests.submitted("online", 0));
        assertTrue(policy.poll(0) != big);
      }
    }

    /** How many of many offline requests run before an online one that comes. */
    int smallBeforeOnline() {
      for (int i = 0; i < 100; i++) {
        policy.add(requests.offline("small", 0));
      }
      QueuedRequest online = requests.submitted("online", 0);
      policy.add(online);
      int before = 0;
      while (policy.poll(0) != online) {
        before++;
      }
      return before;
    }
  }

  @Test
  void offlineCredit_ofOneThatBeginsAsNothingElseWaits_isNotTheNextOnes() {
    Credit credit = new Credit();
    assertEquals(credit.big, credit.policy.poll(0));
    assertEquals(0, credit.smallBeforeOnline());
  }

  @Test
  void offlineCredit_ofOneThatIsWithdrawn_isNotTheNextOnes() {
    Credit credit = new Credit();
    credit.policy.remove(credit.big);
    assertEquals(0, credit.smallBeforeOnline());
  }

  @Test
  void offlineCredit_ofOneThatIsWithdrawn_isForOthersOnlyAsFarAsTheyWait() {
    Credit credit = new Credit();
    QueuedRequest small = credit.requests.offline("small", 0);
    credit.policy.add(small);
    credit.policy.remove(credit.big);
    assertEquals(small, credit.policy.poll(0));
    assertEquals(0, credit.smallBeforeOnline());
  }

  /** Online requests that fit go by meanwhile, but not for ever. */
  @Test
  void offlineRunThatIsHeldUp_keepsItsCreditThoughOthersAreWithdrawn() {
    Estimates estimates = new Estimates(_ -> 0);
    Requests.learn(estimates, "big", 100_000_000);
    Requests.learn(estimates, "online", 10_000_000);
    SchedulingPolicy policy = classes(new FirstComeFirstServed(), estimates, 0.5);
    Requests requests = new Requests(policy, estimates);
    QueuedRequest run = requests.offline("big", 0);
    policy.add(run);
    assertEquals(run, policy.poll(0));
    int onlineRuns = 0;
    policy.add(requests.submitted("online", 0));
    for (@Nullable QueuedRequest before = policy.interrupting(run, 90_000_000, 0);
        before != null;
        before = policy.interrupting(run, 90_000_000, 0)) {
      policy.take(before, 0);
      onlineRuns++;
      assertTrue(onlineRuns < 20, "it starves");
      policy.add(requests.submitted("online", 0));
      QueuedRequest withdrawn = requests.offline("big", 0);
      policy.add(withdrawn);
      policy.remove(withdrawn);
    }
    assertEquals(9, onlineRuns);
  }

  @Test
  void offlineRequestWithCredit_thatDoesNotFit_letsSomeOnlineOnesBy() {
    Estimates known = new Estimates(_ -> 0);
    Requests.learn(known, "m", 1_000_000);
    AtomicLong laneBytes = new AtomicLong(-1);
    Room room = new Room(known, 0, laneBytes::get);
    SchedulingPolicy policy = classes(new FirstThatFits(room, 8), known, 0.5);
    Requests requests = new Requests(policy, known);
    room.take(requests.offline("m", 0)); // It runs all the time.
    QueuedRequest offline = requests.offline("m", 0);
    policy.add(offline);
    int passed = -1;
    @Nullable QueuedRequest next;
    do {
      passed++;
      policy.add(requests.submitted("m", 0));
      next = policy.poll(0);
    } while (next != null && passed < 1_000);
    assertTrue(passed > 10 && passed < 100, "it is passed by so many: " + passed);
    laneBytes.set(0);
    assertEquals(offline, policy.poll(0));
    assertTrue(policy.poll(0) != null);
  }

  @Test
  void fair_modelsOfDifferentLength_areServedForAsLong() {
    Requests.learn(estimates, "a", 1_000);
    Requests.learn(estimates, "b", 4_000);
    SchedulingPolicy policy = policy(config(SchedulingConfig.Policy.FAIR));
    Requests requests = new Requests(policy, estimates);
    policy.add(requests.submitted("b", 0));
    policy.add(requests.submitted("a", 0));
    long served = 0;
    long servedA = 0;
    while (served < 1_000_000) {
      @Nullable QueuedRequest next = policy.poll(served);
      assertTrue(next != null, "both wait all the time");
      long nanos = estimates.executionNanos(next.key());
      served += nanos;
      servedA += next.key().model().model().equals("a") ? nanos : 0;
      policy.add(requests.submitted(next.key().model().model(), served));
    }
    assertEquals(0.5, servedA / (double) served, 0.01);
  }

  /** Half as long as is known, and twice as long. */
  @Test
  void fair_runsThatTakeOtherThanEstimated_modelsAreServedForAsLong() {
    Requests.learn(estimates, "a", 4_000);
    Requests.learn(estimates, "b", 4_000);
    SchedulingPolicy policy = policy(config(SchedulingConfig.Policy.FAIR));
    Requests requests = new Requests(policy, estimates);
    policy.add(requests.submitted("b", 0));
    policy.add(requests.submitted("a", 0));
    long served = 0;
    long servedA = 0;
    while (served < 1_000_000) {
      @Nullable QueuedRequest next = policy.poll(served);
      assertTrue(next != null, "both wait all the time");
      boolean isA = next.key().model().model().equals("a");
      long nanos = isA ? 2_000 : 8_000;
      served += nanos;
      servedA += isA ? nanos : 0;
      policy.add(requests.submitted(next.key().model().model(), served));
      policy.ended(next, served);
    }
    assertEquals(0.5, servedA / (double) served, 0.02);
  }

  @Test
  void fair_runThatStood_isChargedForWhatItWasServed() {
    Requests.learn(estimates, "a", 1_000);
    Requests.learn(estimates, "b", 1_000);
    SchedulingPolicy policy = policy(config(SchedulingConfig.Policy.FAIR));
    Requests requests = new Requests(policy, estimates);
    QueuedRequest stood = requests.submitted("a", 0);
    QueuedRequest other = requests.submitted("b", 1);
    policy.add(stood);
    policy.add(other);
    assertEquals(stood, policy.poll(1));
    assertEquals(other, policy.poll(1));
    stood.served(900);
    policy.ended(stood, 50_000);
    policy.ended(other, 1_001);

    QueuedRequest next = requests.submitted("a", 50_000);
    policy.add(requests.submitted("b", 50_000));
    policy.add(next);
    assertEquals(next, policy.poll(50_000));
  }

  @Test
  void edf_requestWithoutDeadline_runsAsIfItHadASecond() {
    SchedulingPolicy policy = policy(config(SchedulingConfig.Policy.EDF));
    Requests requests = new Requests(policy, estimates);
    QueuedRequest patient = requests.submitted("a", 0);
    QueuedRequest later = requests.submitted("a", 10, OptionalLong.of(2_000_000_000L));
    QueuedRequest sooner = requests.submitted("a", 10, OptionalLong.of(500_000_000L));
    policy.add(patient);
    policy.add(later);
    policy.add(sooner);

    assertEquals(List.of(sooner, patient, later), policy.first(3, 10));
  }
}
