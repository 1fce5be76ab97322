package io.pipelane.switcher.schedule.turn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.Latches;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.schedule.queue.Requests;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who computes when; a long run has ten segments of a millisecond each. */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TurnsTest {
  private static final long MILLISECOND = 1_000_000;
  private static final int SEGMENTS = 10;

  private final AtomicLong now = new AtomicLong();
  private final Estimates estimates = new Estimates(_ -> 0);
  private final RequestQueue queue =
      TurnQueues.of(PipelaneConfig.of(Map.of("scheduling.policy", "srtf")), estimates, 1, now::get);
  private final List<String> ended = Collections.synchronizedList(new ArrayList<>());
  private volatile boolean room = true;

  private Turns turns(int count) {
    Requests.learn(estimates, "long", SEGMENTS * MILLISECOND);
    Requests.learn(estimates, "middle", 4 * MILLISECOND);
    Requests.learn(estimates, "short", MILLISECOND);
    return new Turns(
        count,
        new Precedence(queue, _ -> room, true, 2),
        estimates,
        OfflineGate.open(now::get),
        now::get);
  }

  private void submit(String model) {
    submit(model, Priority.ONLINE);
  }

  private void submit(String model, Priority priority) {
    InferenceRequest request = Requests.request(model, OptionalLong.empty());
    queue.submit(
        new InferenceRequest(
            request.model(), request.inputs(), List.of(), OptionalLong.empty(), priority),
        new Ignored());
  }

  private static String model(QueuedRequest request) {
    return request.key().model().model();
  }

  /** Runs what comes until the queue is closed. */
  private void serve(Turns turns, Consumer<Turn> run) {
    Turn turn = turns.newTurn();
    for (@Nullable QueuedRequest next = turn.next(); next != null; next = turn.next()) {
      run.accept(turn);
      ended.add(model(next));
    }
  }

  @Test
  void turnOfOneRun_isForgottenWithIt() {
    Turns turns = turns(1);
    List<Integer> known = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      QueuedRequest request =
          queue.past(Requests.request("short", OptionalLong.empty()), new Ignored());
      turns.newTurn().run(request, () -> known.add(turns.known()));
    }
    assertEquals(List.of(1, 1, 1), known);
    assertEquals(0, turns.known());
  }

  /** A long run in whose fourth segment others come; the short ones take no time. */
  private List<String> longRunMeets(String... others) throws Exception {
    return longRunMeets(Priority.ONLINE, others);
  }

  private List<String> longRunMeets(Priority priority, String... others) throws Exception {
    Turns turns = turns(1);
    CountDownLatch submitted = new CountDownLatch(1);
    CountDownLatch atGate = new CountDownLatch(1);
    submit("long", priority);
    Consumer<Turn> run =
        turn -> {
          turn.progress().segments(SEGMENTS);
          boolean longer = model(turn.progress().request()).equals("long");
          for (int segment = 0; segment < SEGMENTS; segment++) {
            if (longer && segment == 4) {
              atGate.countDown();
              Latches.await(submitted);
            }
            turn.beforeSegment(segment);
            now.addAndGet(longer ? MILLISECOND : 0);
          }
        };
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      List<Future<?>> lanes = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        lanes.add(threads.submit(() -> serve(turns, run)));
      }
      atGate.await();
      for (String other : others) {
        submit(other);
      }
      while (turns.spare() == 0) {
        Thread.onSpinWait();
      }
      submitted.countDown();
      while (ended.size() < 1 + others.length) {
        Thread.onSpinWait();
      }
      queue.close();
      for (Future<?> lane : lanes) {
        lane.get();
      }
    }
    assertEquals(Math.min(1, ended.indexOf("long")), turns.preemptions().runs());
    return List.copyOf(ended);
  }

  @Test
  void srtf_shorterOnesCome_runFirst() throws Exception {
    assertEquals(
        List.of("short", "middle", "long"), longRunMeets("middle", "short"), "six are left");
  }

  @Test
  void srtf_oneThatIsLongerThanWhatIsLeft_waits() throws Exception {
    assertEquals(List.of("long", "long"), longRunMeets("long"));
  }

  @Test
  void offline_givesWayToLongerOnes() throws Exception {
    assertEquals(
        List.of("short", "middle", "long"), longRunMeets(Priority.OFFLINE, "middle", "short"));
  }

  @Test
  void noRoomForAnotherLane_theRunComesToItsEnd() throws Exception {
    room = false;
    assertEquals(List.of("long", "short"), longRunMeets("short"));
  }

  @Test
  void leave_anotherGoesOnMeanwhile_andTheTurnIsHadAgain() throws Exception {
    Turns turns = turns(1);
    submit("long");
    submit("long");
    Turn first = turns.newTurn();
    Turn second = turns.newTurn();
    first.next();
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      CountDownLatch has = new CountDownLatch(1);
      CountDownLatch mayEnd = new CountDownLatch(1);
      Future<?> other =
          threads.submit(
              () -> {
                second.next();
                has.countDown();
                Latches.await(mayEnd);
                second.leave();
              });
      first.leave();
      first.leave();
      has.await();
      mayEnd.countDown();
      first.retake();
      first.retake();
      other.get();
    }
  }

  /**
   * Two compute; of two more, one begins once both have ended, and the other with a second turn.
   */
  @Test
  void limit_fewerThanCompute_holdsFromTheirEnd_andMoreBeginAtOnce() throws Exception {
    Turns turns = turns(2);
    AtomicInteger computing = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    CountDownLatch both = new CountDownLatch(2);
    CountDownLatch mayEnd = new CountDownLatch(1);
    AtomicInteger begun = new AtomicInteger();
    CountDownLatch together = new CountDownLatch(2);
    Consumer<Turn> run =
        turn -> {
          int number = begun.incrementAndGet();
          int now = computing.incrementAndGet();
          if (number <= 2) {
            both.countDown();
            Latches.await(mayEnd);
          } else if (number <= 10) {
            most.accumulateAndGet(now, Math::max);
          } else {
            together.countDown();
            Latches.await(together);
          }
          computing.decrementAndGet();
          turn.leave(); // As before it waits for memory: it computes no more.
        };
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<?>> lanes = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        lanes.add(threads.submit(() -> serve(turns, run)));
      }
      submit("long");
      submit("long");
      both.await();
      turns.limit(1);
      for (int i = 0; i < 8; i++) {
        submit("long");
      }
      mayEnd.countDown();
      while (ended.size() < 10) {
        Thread.onSpinWait();
      }
      assertEquals(1, most.get());
      turns.limit(2);
      submit("long");
      submit("long");
      together.await();
      queue.close();
      for (Future<?> lane : lanes) {
        lane.get();
      }
    }
  }

  /** Two compute, and a third is paused; the first of the two to end hands its turn to nobody. */
  @Test
  void limit_fewerWhileOneIsPaused_isPaidBeforeThatGoesOn() throws Exception {
    Turns turns = turns(2);
    for (int i = 0; i < 3; i++) {
      submit("long");
    }
    Turn ends = turns.newTurn();
    Turn goesOn = turns.newTurn();
    Turn pauses = turns.newTurn();
    pauses.next();
    goesOn.next();
    pauses.leave();
    ends.next();
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Future<?> paused = threads.submit(pauses::retake);
      while (!isPaused(turns, pauses)) {
        Thread.onSpinWait();
      }
      turns.limit(1);
      Future<@Nullable QueuedRequest> last = threads.submit(ends::next);
      while (turns.spare() == 0) {
        Thread.onSpinWait();
      }
      assertTrue(isPaused(turns, pauses), "one computes, and one is to");
      goesOn.leave();
      paused.get();
      queue.close();
      pauses.leave();
      assertNull(last.get());
    }
  }

  private static boolean isPaused(Turns turns, Turn turn) {
    turns.lock.lock();
    try {
      return turns.paused.contains(turn);
    } finally {
      turns.lock.unlock();
    }
  }

  @Test
  void manyRunsThatWaitAndGiveWay_neverMoreComputeThanThereAreTurns() throws Exception {
    long seed = new Random().nextLong();
    Turns turns = turns(2);
    AtomicInteger computing = new AtomicInteger();
    CountDownLatch submitted = new CountDownLatch(1);
    Consumer<Turn> run =
        turn -> {
          Random random = new Random(seed + now.incrementAndGet());
          turn.progress().segments(SEGMENTS);
          if (random.nextInt(3) == 0) {
            turn.leave();
            Thread.onSpinWait();
            turn.retake();
          }
          for (int segment = 0; segment < SEGMENTS; segment++) {
            boolean waits =
                segment == 5 && turn.progress().request().request().priority() == Priority.OFFLINE;
            while (waits && queue.isEmpty() && submitted.getCount() > 0) {
              Thread.onSpinWait();
            }
            turn.beforeSegment(segment);
            assertTrue(computing.incrementAndGet() <= 2, () -> "seed " + seed);
            now.addAndGet(random.nextInt(100_000));
            computing.decrementAndGet();
          }
        };
    int requests = 3_000;
    try (ExecutorService threads = Executors.newFixedThreadPool(5)) {
      List<Future<?>> lanes = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        lanes.add(threads.submit(() -> serve(turns, run)));
      }
      Random random = new Random(seed);
      for (int i = 0; i < requests; i++) {
        while (queue.waiting() > 4) {
          Thread.onSpinWait();
        }
        if (random.nextInt(50) == 0) {
          turns.limit(1 + random.nextInt(2));
        }
        submit(
            List.of("long", "middle", "short").get(random.nextInt(3)),
            random.nextInt(4) == 0 ? Priority.OFFLINE : Priority.ONLINE);
      }
      submitted.countDown();
      queue.close();
      for (Future<?> lane : lanes) {
        lane.get();
      }
    }
    assertEquals(requests, ended.size(), () -> "seed " + seed);
    assertTrue(turns.preemptions().runs() > 0, () -> "seed " + seed);
  }
}
