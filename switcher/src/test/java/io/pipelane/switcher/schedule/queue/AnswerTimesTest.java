package io.pipelane.switcher.schedule.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.config.section.SchedulingConfig.Policy;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.LaneTimes;
import io.pipelane.switcher.schedule.policy.Room;
import io.pipelane.switcher.schedule.policy.SchedulingPolicies;
import io.pipelane.switcher.simulator.SimulatedModel;
import io.pipelane.switcher.simulator.SimulatedModels;
import io.pipelane.switcher.simulator.Simulator;
import io.pipelane.switcher.simulator.SimulatorSettings;
import io.pipelane.switcher.simulator.TracedUse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Who is refused because of what is before it in line. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AnswerTimesTest {
  private static final int SCHEDULES = 300;
  private static final int ARRIVALS = 24;
  private static final List<String> MODELS = List.of("a", "b", "c", "d");
  private static final long LONGEST = 64_000;
  private static final long MILLISECOND = 1_000_000;

  private final Estimates estimates = new Estimates(_ -> 0);
  private final Deadlines deadlines = new Deadlines(estimates);
  private final AtomicLong now = new AtomicLong();

  private final Map<Policy, SchedulingConfig> configs = new EnumMap<>(Policy.class);

  private SchedulingConfig config(Policy policy) {
    return configs.computeIfAbsent(
        policy,
        name -> PipelaneConfig.of(Map.of("scheduling.policy", name.toString())).scheduling());
  }

  private record Arrival(long nanos, String model, OptionalLong deadline) {}

  private record Running(QueuedRequest request, long endNanos) {}

  /** Lanes that run what a policy gives them, each run for as long as it is known to take. */
  private final class Replay {
    final SchedulingPolicy policy;
    final AnswerTimes times;
    final Requests requests;
    final int lanes;
    final Set<QueuedRequest> waiting = new HashSet<>();
    final Set<QueuedRequest> inTime = new HashSet<>();
    final PriorityQueue<Running> running =
        new PriorityQueue<>(Comparator.comparingLong(Running::endNanos));

    Replay(Policy name, int lanes) {
      Room room = new Room(estimates, 90, () -> Long.MAX_VALUE);
      this.policy = SchedulingPolicies.of(config(name), estimates, room);
      this.times = new AnswerTimes(policy, estimates, lanes);
      this.requests = new Requests(policy, estimates);
      this.lanes = lanes;
      requests.agree("a", 60);
      requests.agree("b", 50);
      requests.agree("c", 5);
    }

    QueuedRequest comes(Arrival arrival) {
      passUntil(arrival.nanos);
      QueuedRequest request = requests.submitted(arrival.model, arrival.nanos, arrival.deadline);
      request.takes(estimates.history().of(request.key()));
      return request;
    }

    boolean isAdmitted(QueuedRequest request, long nanos) {
      long[] taken = new long[lanes];
      int lane = 0;
      for (Running run : running) {
        taken[lane++] = run.endNanos - nanos;
      }
      long least = waiting.stream().mapToLong(QueuedRequest::leastNanos).sum();
      try {
        times.admit(request, new LaneTimes(taken), least, nanos);
        return !deadlines.isTooLate(request, nanos);
      } catch (StatusException e) {
        return false;
      }
    }

    void add(QueuedRequest request, long nanos) {
      policy.add(request);
      waiting.add(request);
      start(nanos);
    }

    void passUntil(long nanos) {
      while (!running.isEmpty() && running.element().endNanos <= nanos) {
        Running ended = running.remove();
        policy.ended(ended.request, ended.endNanos);
        start(ended.endNanos);
      }
    }

    private void start(long nanos) {
      while (running.size() < lanes) {
        @Nullable QueuedRequest next = policy.poll(nanos);
        if (next == null) {
          return;
        }
        waiting.remove(next);
        if (deadlines.isTooLate(next, nanos)) {
          policy.ended(next, nanos);
        } else {
          inTime.add(next);
          running.add(new Running(next, nanos + next.leastNanos()));
        }
      }
    }
  }

  private static List<Arrival> arrivals(Random random) {
    List<Arrival> arrivals = new ArrayList<>();
    long nanos = 0;
    for (int i = 0; i < ARRIVALS; i++) {
      nanos += random.nextInt(20_000);
      int model = random.nextInt(MODELS.size());
      OptionalLong deadline =
          random.nextInt(4) == 0
              ? OptionalLong.empty()
              : OptionalLong.of(nanos + (LONGEST >> (2 * model)) + random.nextInt(200_000));
      arrivals.add(new Arrival(nanos, MODELS.get(model), deadline));
    }
    return arrivals;
  }

  /** Whether one of some that come is in time if it is taken, and nothing comes after it. */
  private boolean isInTime(
      Policy policy, int lanes, List<Arrival> arrivals, int last, Set<Integer> refused) {
    Replay replay = new Replay(policy, lanes);
    for (int i = 0; i < last; i++) {
      if (!refused.contains(i)) {
        replay.add(replay.comes(arrivals.get(i)), arrivals.get(i).nanos);
      }
    }
    QueuedRequest request = replay.comes(arrivals.get(last));
    replay.add(request, arrivals.get(last).nanos);
    replay.passUntil(Long.MAX_VALUE);
    return replay.inTime.contains(request);
  }

  @ParameterizedTest
  @EnumSource(Policy.class)
  void admit_timesAreRight_nobodyIsRefusedWhoWouldHaveMadeIt(Policy policy) {
    for (int i = 0; i < MODELS.size(); i++) {
      Requests.learn(estimates, MODELS.get(i), LONGEST >> (2 * i));
    }
    boolean inOrder = policy == Policy.FIFO || policy == Policy.EDF;
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    int allRefused = 0;
    for (int schedule = 0; schedule < SCHEDULES; schedule++) {
      String where = "seed %d, schedule %d, request ".formatted(seed, schedule);
      int lanes = 1 + random.nextInt(3);
      List<Arrival> arrivals = arrivals(random);
      Set<Integer> refused = new HashSet<>();
      Replay replay = new Replay(policy, lanes);
      for (int i = 0; i < arrivals.size(); i++) {
        long nanos = arrivals.get(i).nanos;
        QueuedRequest request = replay.comes(arrivals.get(i));
        if (replay.isAdmitted(request, nanos)) {
          replay.add(request, nanos);
          boolean is = !inOrder || isInTime(policy, lanes, arrivals, i, refused);
          assertTrue(is, where + i + " was taken and had no chance");
        } else {
          assertFalse(isInTime(policy, lanes, arrivals, i, refused), where + i);
          refused.add(i);
        }
      }
      allRefused += refused.size();
    }
    assertTrue(allRefused > 0, "some are refused");
  }

  /** Of models whose weights are all there, after one request for each. */
  @Test
  void admit_firstComeFirstServed_refusesWhomTheSimulatorRefuses() {
    for (int i = 0; i < MODELS.size(); i++) {
      Requests.learn(estimates, MODELS.get(i), LONGEST >> (2 * i));
    }
    List<SimulatedModel> models = new ArrayList<>();
    for (int i = 0; i < MODELS.size(); i++) {
      models.add(SimulatedModels.model(MODELS.get(i), 1, LONGEST >> (2 * i)));
    }
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    int allRefused = 0;
    for (int schedule = 0; schedule < SCHEDULES; schedule++) {
      int lanes = 1 + random.nextInt(3);
      long objective = 2 * LONGEST + random.nextInt(200_000);
      List<TracedUse> trace = new ArrayList<>();
      for (int i = 0; i < MODELS.size(); i++) {
        trace.add(new TracedUse(i * MILLISECOND, i));
      }
      long nanos = MODELS.size() * MILLISECOND;
      for (int i = 0; i < 2 * ARRIVALS; i++) {
        nanos += random.nextInt(16_000 / lanes);
        trace.add(new TracedUse(nanos, random.nextInt(MODELS.size())));
      }
      SimulatorSettings settings =
          new SimulatorSettings(
              MODELS.size() * SimulatedModels.PAGE,
              SimulatedModels.PAGE,
              lanes,
              new EqualBytesGrouping(1_000, 1),
              PipelaneConfig.defaults().residency());
      long[] simulated =
          new Simulator(settings, models, _ -> {}, objective).replay(trace).latencyNanos();
      Replay replay = new Replay(Policy.FIFO, lanes);
      for (int i = MODELS.size(); i < trace.size(); i++) {
        long came = trace.get(i).nanos();
        String model = MODELS.get(trace.get(i).model());
        QueuedRequest request =
            replay.comes(new Arrival(came, model, OptionalLong.of(came + objective)));
        boolean isAdmitted = replay.isAdmitted(request, came);
        assertEquals(
            isAdmitted,
            simulated[i] != io.pipelane.switcher.simulator.Replay.REFUSED,
            "seed %d, schedule %d, request %d".formatted(seed, schedule, i));
        if (isAdmitted) {
          replay.add(request, came);
        } else {
          allRefused++;
        }
      }
    }
    assertTrue(allRefused > SCHEDULES, "some are refused");
  }

  private RequestQueue queue(Policy policy) {
    Room room = new Room(estimates, Long.MAX_VALUE, () -> Long.MAX_VALUE);
    return new RequestQueue(
        SchedulingPolicies.of(config(policy), estimates, room),
        estimates,
        1,
        10_000,
        Long.MAX_VALUE,
        now::get);
  }

  private static QueuedRequest submit(RequestQueue queue, OptionalLong deadline) {
    return queue.submit(Requests.request("m", deadline), new Ignored());
  }

  private static StatusException refusal(RequestQueue queue, long deadline) {
    return assertThrows(StatusException.class, () -> submit(queue, OptionalLong.of(deadline)));
  }

  @Test
  void submit_behindTenSecondsOfWork_isRefusedAndSaysWhenToComeBack() {
    Requests.learn(estimates, "m", 10 * MILLISECOND);
    RequestQueue queue = queue(Policy.FIFO);
    for (int i = 0; i < 1_000; i++) {
      submit(queue, OptionalLong.empty());
    }
    StatusException refusal = refusal(queue, 250 * MILLISECOND);
    assertEquals(Status.UNAVAILABLE, refusal.status());
    String message = String.valueOf(refusal.getMessage());
    assertTrue(message.contains("needs about 10.0 ms behind at least 250.0 ms"), message);
    assertTrue(message.contains("leaves 250.0 ms"), message);
    assertEquals(Duration.ofMillis(9_760), assertNotNullAnd(refusal.retryAfter()));
    assertEquals(1_000, queue.waiting());
    assertEquals(1, queue.overview().refusedLate());
  }

  private static Duration assertNotNullAnd(@Nullable Duration duration) {
    assertNotNull(duration);
    return duration == null ? Duration.ZERO : duration;
  }

  @Test
  void submit_srtf_isBehindWhatIsDueBeforeItOnly() {
    Requests.learn(estimates, "m", 10 * MILLISECOND);
    RequestQueue queue = queue(Policy.SRTF);
    for (int i = 0; i < 1_000; i++) {
      submit(queue, OptionalLong.empty());
    }
    submit(queue, OptionalLong.of(250 * MILLISECOND));
    RequestQueue dueBefore = queue(Policy.SRTF);
    for (int i = 0; i < 25; i++) {
      submit(dueBefore, OptionalLong.of(250 * MILLISECOND));
    }
    refusal(dueBefore, 250 * MILLISECOND);
    submit(dueBefore, OptionalLong.of(260 * MILLISECOND));
    submit(dueBefore, OptionalLong.of(100 * MILLISECOND));
  }

  @Test
  void submit_mayRunWithThoseBeforeIt_isNotBehindThem() {
    Requests.learn(estimates, "m", 10 * MILLISECOND);
    RequestQueue queue = queue(Policy.FIFO);
    for (int i = 0; i < 3; i++) {
      submit(queue, OptionalLong.empty());
    }
    refusal(queue, 12 * MILLISECOND);
    queue.agree(
        new ModelVersion("m", 1),
        new Terms(ModelOptions.DEFAULT.limits(), new BatchRules(List.of(4), 0, false), 0));
    submit(queue, OptionalLong.of(12 * MILLISECOND));
    refusal(queue, 12 * MILLISECOND);
  }

  @Test
  void answered_someRequests_errorOfTheirEstimatesIsKnown() {
    Requests.learn(estimates, "m", 10 * MILLISECOND);
    RequestQueue queue = queue(Policy.FIFO);
    for (int i = 0; i < 17; i++) {
      submit(queue, OptionalLong.empty());
    }
    for (int i = 0; i < 17; i++) {
      QueuedRequest next = queue.take();
      assertNotNull(next);
      now.addAndGet(i == 0 ? 10 * MILLISECOND : 19 * MILLISECOND);
      if (next != null) {
        next.handler().completed(new InferenceTimings(0, 0, 0));
      }
    }
    double late = 10 + 16 * 19;
    assertEquals((late - 170) / late, estimates.medianAnswerError(), 1e-9);
  }
}
