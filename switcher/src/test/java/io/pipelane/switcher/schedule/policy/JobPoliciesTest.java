package io.pipelane.switcher.schedule.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.config.section.SchedulingConfig.FairMeasure;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.JobWork;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.Requests;
import io.pipelane.switcher.schedule.queue.SchedulingPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Jobs, whose items are submitted one after another, in the order of each policy. */
class JobPoliciesTest {
  private static final int SCHEDULES = 10_000;
  private static final List<String> MODELS = List.of("a", "b");
  private static final long RUN = 1_000;

  private final Estimates estimates = new Estimates(_ -> 0);
  private final long seed = new Random().nextLong();
  private final Random random = new Random(seed);

  JobPoliciesTest() {
    Requests.learn(estimates, "a", RUN);
    Requests.learn(estimates, "b", 4 * RUN);
  }

  private Room plenty() {
    return new Room(estimates, Long.MAX_VALUE, () -> Long.MAX_VALUE);
  }

  /** A job of one model; its next item comes when the one before has ended. */
  private static final class TestJob {
    final String model;
    final JobWork work;
    long left;

    TestJob(String model, long cameNanos, long items) {
      this.model = model;
      this.work = new JobWork(cameNanos);
      this.left = items;
      work.left(items);
    }

    void ended() {
      left--;
      work.left(left);
    }
  }

  private QueuedRequest item(Requests requests, TestJob job, long now) {
    return requests.item(job.model, now, job.work, Priority.OFFLINE);
  }

  /** Runs jobs of unit items on one lane; the sum of their ends. */
  private long sumOfEnds(SchedulingPolicy policy, long[] arrivals, long[] lengths) {
    Requests requests = new Requests(policy, estimates);
    Map<Object, TestJob> jobs = new HashMap<>();
    long sum = 0;
    int ended = 0;
    for (long now = 0; ended < arrivals.length; now += RUN) {
      for (int i = 0; i < arrivals.length; i++) {
        if (arrivals[i] * RUN == now) {
          TestJob job = new TestJob("a", now, lengths[i]);
          jobs.put(job.work, job);
          policy.add(item(requests, job, now));
        }
      }
      @Nullable QueuedRequest next = policy.poll(now);
      if (next != null) {
        TestJob job = Objects.requireNonNull(jobs.get(next.owner()));
        policy.ended(next, now + RUN);
        job.ended();
        if (job.left > 0) {
          policy.add(item(requests, job, now + RUN));
        } else {
          ended++;
          sum += now + RUN;
        }
      }
    }
    return sum;
  }

  /** Shortest remaining job first, which has the least sum of all orders. */
  private static long leastSumOfEnds(long[] arrivals, long[] lengths) {
    long[] left = lengths.clone();
    long sum = 0;
    for (long now = 0; Arrays.stream(left).sum() > 0; now++) {
      int best = -1;
      for (int i = 0; i < left.length; i++) {
        boolean waits = left[i] > 0 && arrivals[i] <= now;
        best = waits && (best < 0 || left[i] < left[best]) ? i : best;
      }
      if (best >= 0 && --left[best] == 0) {
        sum += (now + 1) * RUN;
      }
    }
    return sum;
  }

  @Test
  void srtf_itemsOfOneKind_runInTheOrderOfWhatTheirJobsHaveLeft() {
    for (int schedule = 0; schedule < 1_000; schedule++) {
      long[] arrivals = random.longs(5, 0, 12).toArray();
      long[] lengths = random.longs(5, 1, 9).toArray();
      assertEquals(
          leastSumOfEnds(arrivals, lengths),
          sumOfEnds(new ShortestRemainingFirst(estimates, 0), arrivals, lengths),
          () -> "seed " + seed);
    }
  }

  @Test
  void srtf_measuredTimeOfItems_countsAndNotTheRunsAlone() {
    ShortestRemainingFirst policy = new ShortestRemainingFirst(estimates, 0);
    Requests requests = new Requests(policy, estimates);
    TestJob chain = new TestJob("a", 0, 10);
    chain.work.ran(50 * RUN); // Several models to an item.
    TestJob simple = new TestJob("a", 0, 100);
    policy.add(item(requests, chain, 0));
    QueuedRequest expected = item(requests, simple, 0);
    policy.add(expected);
    assertEquals(expected, policy.poll(0));
  }

  /** A paused run is compared with its job, too. */
  @Test
  void srtf_runOfALongJob_givesWayToAShortJobsItemOfTheSameKind() {
    ShortestRemainingFirst policy = new ShortestRemainingFirst(estimates, 0);
    Requests requests = new Requests(policy, estimates);
    QueuedRequest run = item(requests, new TestJob("a", 0, 10_000), 0);
    QueuedRequest item = item(requests, new TestJob("a", 0, 2), 0);
    policy.add(item);
    assertEquals(item, policy.interrupting(run, 1, 0));
    policy.remove(item);
    policy.add(item(requests, new TestJob("a", 0, 20_000), 0));
    assertEquals(null, policy.interrupting(run, 1, 0));
  }

  /** MLSys version, figure 9: equal jobs that join share evenly from then on. */
  @Test
  void fair_jobsOfOneModel_areServedForAsLong() {
    for (FairMeasure measure : FairMeasure.values()) {
      FairSharing policy = new FairSharing(estimates, plenty(), measure, 0);
      Requests requests = new Requests(policy, estimates);
      requests.agree("a", 7);
      List<TestJob> jobs = new ArrayList<>();
      Map<Object, TestJob> byWork = new HashMap<>();
      long now = 0;
      for (int joins = 1; joins <= 3; joins++) {
        TestJob joining = new TestJob("a", now, 1_000_000);
        jobs.add(joining);
        byWork.put(joining.work, joining);
        policy.add(item(requests, joining, now));
        long[] before = jobs.stream().mapToLong(job -> job.left).toArray();
        for (int i = 0; i < 600; i++) {
          QueuedRequest next = Objects.requireNonNull(policy.poll(now));
          TestJob job = Objects.requireNonNull(byWork.get(next.owner()));
          now += RUN;
          policy.ended(next, now);
          job.ended();
          policy.add(item(requests, job, now));
        }
        for (int i = 0; i < joins; i++) {
          long share = 600 / joins;
          long served = before[i] - jobs.get(i).left;
          assertTrue(Math.abs(served - share) <= 2, measure + " of " + joins + ": " + served);
        }
      }
    }
  }

  /**
   * While an item waits, no other job is served for longer than some items of each: of two lanes
   * either may have an item that takes twice or half as long as it was charged for.
   */
  @Test
  void fairService_whileAnItemWaits_noOtherJobIsServedForLong() {
    Map<QueuedRequest, Map<Object, Long>> served = new HashMap<>();
    schedules(
        () -> {
          served.clear();
          return new FairSharing(estimates, plenty(), FairMeasure.SERVICE, 0);
        },
        (started, waiting, _) -> {
          long run = estimates.remainingNanos(started.key());
          Map<Object, QueuedRequest> firsts = new HashMap<>();
          waiting.forEach(request -> firsts.putIfAbsent(request.owner(), request));
          for (QueuedRequest other : firsts.values()) {
            if (!other.owner().equals(started.owner())) {
              long sum =
                  served
                      .computeIfAbsent(other, _ -> new HashMap<>())
                      .merge(started.owner(), run, Long::sum);
              long own = estimates.remainingNanos(other.key());
              assertTrue(sum <= 2 * (own + 2 * (own + run)) + run);
            }
          }
        });
  }

  @Test
  void fifo_itemsRunInTheOrderOfTheirJobs() {
    schedules(
        FirstComeFirstServed::new,
        (started, waiting, _) ->
            waiting.forEach(other -> assertTrue(started.cameNanos() <= other.cameNanos())));
  }

  /** Whoever has waited for what its job has left / ageing is passed by nobody who comes later. */
  @Test
  void srtf_nobodyStarves() {
    double ageing = 0.5;
    schedules(
        () -> new ShortestRemainingFirst(estimates, ageing),
        (started, waiting, now) -> {
          for (QueuedRequest other : waiting) {
            long left = estimates.remainingNanos(other.key()) + other.behindNanos();
            boolean hasPriority = ageing * (now - other.submittedNanos()) > (double) left;
            assertTrue(!hasPriority || startedEarlier(started, other));
          }
        });
  }

  private boolean startedEarlier(QueuedRequest started, QueuedRequest other) {
    long ownLeft = estimates.remainingNanos(started.key()) + started.behindNanos();
    long othersLeft = estimates.remainingNanos(other.key()) + other.behindNanos();
    return started.submittedNanos() <= other.submittedNanos() || ownLeft <= othersLeft;
  }

  @ParameterizedTest
  @EnumSource(SchedulingConfig.Policy.class)
  void anyPolicy_jobsAndRequestsOfBothClasses_runToTheirEnd(SchedulingConfig.Policy name) {
    SchedulingConfig config =
        PipelaneConfig.of(Map.of("scheduling.policy", name.toString())).scheduling();
    schedules(() -> SchedulingPolicies.of(config, estimates, plenty()), (_, _, _) -> {});
  }

  private interface Policies {
    SchedulingPolicy make();
  }

  /** Random jobs and offline requests beside them; the items of a job wait all at once. */
  private void schedules(Policies policies, PolicyRun.Watcher watcher) {
    try {
      for (int schedule = 0; schedule < SCHEDULES; schedule++) {
        SchedulingPolicy policy = policies.make();
        Requests requests = new Requests(policy, estimates);
        PolicyRun run = new PolicyRun(policy, requests, 1 + random.nextInt(2), random);
        for (int step = 0; step < 5; step++) {
          String model = MODELS.get(random.nextInt(MODELS.size()));
          if (random.nextInt(3) == 0) {
            run.arrive(requests.offline(model, run.now));
          } else {
            TestJob job = new TestJob(model, run.now, 1 + random.nextInt(4));
            for (long i = 0; i < job.left; i++) {
              run.arrive(item(requests, job, run.now));
            }
          }
          run.pass(random.nextInt(6_000), watcher);
        }
        run.drain(watcher);
      }
    } catch (AssertionError e) {
      throw new AssertionError("seed " + seed, e);
    }
  }
}
