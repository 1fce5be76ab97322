package io.pipelane.switcher.schedule.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.config.section.SchedulingConfig.FairMeasure;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.Requests;
import io.pipelane.switcher.schedule.queue.SchedulingPolicy;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The bound that each policy states on what may go ahead of a request, over random schedules. */
class StarvationTest {
  private static final int SCHEDULES = 10_000;
  private static final List<String> MODELS = List.of("a", "b", "c", "d");
  private static final long LONGEST = 64_000;
  private static final long SECOND = 1_000_000_000;
  private static final int SKIPS = 2;
  private static final int MOST_LANES = 3;

  private final Estimates estimates = new Estimates(_ -> 0);
  private final long seed = new Random().nextLong();

  StarvationTest() {
    for (int i = 0; i < MODELS.size(); i++) {
      Requests.learn(estimates, MODELS.get(i), LONGEST >> (2 * i));
    }
  }

  /** Two thirds of the memory for "a", one third for "b"; the others fit beside anything. */
  private Room room() {
    return new Room(estimates, 90, () -> Long.MAX_VALUE);
  }

  /** Makes requests of a model wait that come now. */
  private interface Arrivals {
    QueuedRequest come(Requests requests, String model, long now, Random random);
  }

  private static QueuedRequest plain(Requests requests, String model, long now, Random random) {
    return requests.submitted(model, now);
  }

  private void run(
      BiFunction<Random, Room, SchedulingPolicy> policies,
      Arrivals arrivals,
      PolicyRun.Watcher watcher) {
    Random random = new Random(seed);
    try {
      for (int schedule = 0; schedule < SCHEDULES; schedule++) {
        SchedulingPolicy policy = policies.apply(random, room());
        Requests requests = new Requests(policy, estimates);
        requests.agree("a", 60);
        requests.agree("b", 30);
        requests.agree("c", 5);
        PolicyRun run = new PolicyRun(policy, requests, 1 + random.nextInt(MOST_LANES), random);
        for (int step = 0; step < 12; step++) {
          String model = MODELS.get(random.nextInt(MODELS.size()));
          run.arrive(arrivals.come(requests, model, run.now, random));
          if (random.nextInt(8) == 0) {
            run.withdrawOne(random);
          }
          run.pass(random.nextInt(20_000), watcher);
        }
        run.drain(watcher);
      }
    } catch (AssertionError e) {
      throw new AssertionError("seed " + seed, e);
    }
  }

  @ParameterizedTest
  @EnumSource(SchedulingConfig.Policy.class)
  void anyPolicy_bothClasses_runsEverythingAndGetsDone(SchedulingConfig.Policy name) {
    SchedulingConfig config =
        PipelaneConfig.of(Map.of("scheduling.policy", name.toString())).scheduling();
    run(
        (_, room) -> SchedulingPolicies.of(config, estimates, room),
        (requests, model, now, random) ->
            switch (random.nextInt(3)) {
              case 0 -> requests.offline(model, now);
              case 1 -> requests.submitted(model, now);
              default ->
                  requests.submitted(model, now, OptionalLong.of(now + random.nextInt(90_000)));
            },
        (_, _, _) -> {});
  }

  @Test
  void fifo_nobodyWhoComesLaterGoesAhead() {
    run(
        (_, _) -> new FirstComeFirstServed(),
        StarvationTest::plain,
        (started, waiting, _) ->
            waiting.forEach(
                other -> assertTrue(started.submittedNanos() <= other.submittedNanos())));
  }

  @Test
  void edf_nobodyWhoComesAfterItIsDueGoesAhead() {
    run(
        (_, _) -> new EarliestDeadlineFirst(),
        (requests, model, now, random) ->
            random.nextBoolean()
                ? requests.submitted(model, now)
                : requests.submitted(model, now, OptionalLong.of(now + random.nextInt(90_000))),
        (started, waiting, _) ->
            waiting.forEach(
                other -> {
                  long due =
                      other.request().deadlineNanos().orElse(other.submittedNanos() + SECOND);
                  assertTrue(started.submittedNanos() <= due);
                }));
  }

  /** Who has waited for what it needs / ageing, but for a deadline before each run. */
  @Test
  void srtf_nobodyWhoComesAfterItsBoundGoesAheadTwice() {
    double ageing = 0.5;
    AtomicBoolean passed = new AtomicBoolean();
    AtomicLong passes = new AtomicLong();
    run(
        (_, _) -> {
          passed.set(false);
          return new ShortestRemainingFirst(estimates, ageing);
        },
        (requests, model, now, random) ->
            random.nextBoolean()
                ? requests.submitted(model, now)
                : requests.submitted(model, now, OptionalLong.of(now + random.nextInt(90_000))),
        (started, waiting, _) -> {
          boolean goesAhead =
              waiting.stream()
                  .anyMatch(
                      other ->
                          started.submittedNanos() - other.submittedNanos()
                              > estimates.remainingNanos(other.key()) / ageing + 1);
          assertTrue(!goesAhead || !passed.get());
          passed.set(goesAhead);
          passes.addAndGet(goesAhead ? 1 : 0);
        });
    assertTrue(passes.get() > 0, "deadlines go ahead");
  }

  @Test
  void pack_isSkippedByThoseWhoComeLaterAFewTimesOnly() {
    Map<QueuedRequest, Integer> skips = new HashMap<>();
    Map<QueuedRequest, Integer> before = new HashMap<>();
    run(
        (_, room) -> new FirstThatFits(room, SKIPS),
        StarvationTest::plain,
        (started, waiting, _) -> {
          for (int i = 0; i < waiting.size(); i++) {
            QueuedRequest other = waiting.get(i);
            int ahead = i;
            before.computeIfAbsent(other, _ -> ahead);
            if (started.submittedNanos() > other.submittedNanos()) {
              int most = (before.get(other) + 1) * SKIPS;
              assertTrue(skips.merge(other, 1, Integer::sum) <= most);
            }
          }
        });
  }

  /**
   * While a request is the first of its model, no other model is served for longer than stated.
   * What runs are charged is right only at their end, by then they may have had twice as much or
   * half of that.
   */
  @ParameterizedTest
  @ValueSource(ints = {0, SKIPS})
  void fairService_noOtherModelIsServedForLongWhileOneWaits(int mostSkips) {
    Map<QueuedRequest, Map<String, Long>> served = new HashMap<>();
    run(
        (_, room) -> new FairSharing(estimates, room, FairMeasure.SERVICE, mostSkips),
        StarvationTest::plain,
        (started, waiting, _) -> {
          String model = started.request().model().model();
          long run = estimates.remainingNanos(started.key());
          for (QueuedRequest other : firsts(waiting)) {
            if (!other.request().model().model().equals(model)) {
              long sum =
                  served.computeIfAbsent(other, _ -> new HashMap<>()).merge(model, run, Long::sum);
              long own = estimates.remainingNanos(other.key());
              long charged = own + MOST_LANES * (own + run) + mostSkips * run;
              assertTrue(sum <= 2 * charged + run);
            }
          }
        });
  }

  private static List<QueuedRequest> firsts(List<QueuedRequest> waiting) {
    Map<String, QueuedRequest> firsts = new HashMap<>();
    waiting.forEach(request -> firsts.putIfAbsent(request.request().model().model(), request));
    return List.copyOf(firsts.values());
  }

  /** Least first, by accounts that the test keeps; and whoever waits longest, after an arrival. */
  @Test
  void fairMemory_leastUsedSinceTheLastArrivalGoesFirst() {
    Map<String, Double> used = new HashMap<>();
    run(
        (_, _) -> {
          used.clear();
          Room plenty = new Room(estimates, Long.MAX_VALUE, () -> Long.MAX_VALUE);
          return new FairSharing(estimates, plenty, FairMeasure.MEMORY, 0);
        },
        (requests, model, now, random) -> {
          if (used.putIfAbsent(model, 0.0) == null) {
            used.replaceAll((_, _) -> 0.0);
          }
          return requests.submitted(model, now);
        },
        new PolicyRun.Watcher() {
          @Override
          public void started(QueuedRequest started, List<QueuedRequest> waiting, long nowNanos) {
            double least = used(used, started);
            for (QueuedRequest other : firsts(waiting)) {
              double others = used(used, other);
              assertTrue(
                  least < others
                      || (least == others && started.submittedNanos() <= other.submittedNanos()));
            }
            charge(started, estimates.remainingNanos(started.key()));
          }

          @Override
          public void ended(QueuedRequest ended, long nanos) {
            charge(ended, nanos - estimates.remainingNanos(ended.key()));
          }

          private void charge(QueuedRequest request, long nanos) {
            double bytes = Math.max(1, request.weightBytes());
            used.merge(
                request.request().model().model(),
                bytes * nanos,
                (before, more) -> Math.max(0, before + more));
          }
        });
  }

  /** Of two models that are alike but for that, the one without state has its share of runs. */
  @Test
  void fairMemory_stateCountsAsWeightsDo() {
    Room plenty = new Room(estimates, Long.MAX_VALUE, () -> Long.MAX_VALUE);
    SchedulingPolicy policy = new FairSharing(estimates, plenty, FairMeasure.MEMORY, 0);
    Requests requests = new Requests(policy, estimates);
    Requests.learn(estimates, "c", LONGEST);
    Requests.learn(estimates, "d", LONGEST);
    requests.agree("c", 10);
    requests.agree("d", 10);
    for (int i = 0; i < 100; i++) {
      policy.add(requests.step("c", 2L * i, 90));
      policy.add(requests.step("d", 2L * i + 1, 0));
    }
    int keeping = 0;
    for (int i = 0; i < 55; i++) {
      QueuedRequest next = Objects.requireNonNull(policy.poll(0));
      keeping += next.request().model().model().equals("c") ? 1 : 0;
    }
    assertEquals(5, keeping, 1);
  }

  private static double used(Map<String, Double> used, QueuedRequest request) {
    return used.getOrDefault(request.request().model().model(), 0.0);
  }

  /** Online runs before the next offline request: its time * (1 - share) / share, and one more. */
  @Test
  void offline_isOvertakenByOnlineForNoLongerThanItsShareSays() {
    Map<QueuedRequest, Long> overtaken = new HashMap<>();
    double share = 0.25;
    run(
        (_, _) ->
            new PriorityClasses(
                new FirstComeFirstServed(),
                new FirstComeFirstServed(),
                estimates,
                share,
                OfflineGate.open(() -> 0)),
        (requests, model, now, random) ->
            random.nextInt(4) == 0 ? requests.offline(model, now) : requests.submitted(model, now),
        (started, waiting, _) -> {
          if (started.request().priority() == Priority.ONLINE) {
            waiting.stream()
                .filter(other -> other.request().priority() == Priority.OFFLINE)
                .findFirst()
                .ifPresent(
                    next -> {
                      long online = estimates.remainingNanos(started.key());
                      long sum = overtaken.merge(next, online, Long::sum);
                      long own = estimates.remainingNanos(next.key());
                      assertTrue(sum <= own * (1 - share) / share + LONGEST);
                    });
          }
        });
  }
}
