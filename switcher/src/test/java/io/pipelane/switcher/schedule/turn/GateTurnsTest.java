package io.pipelane.switcher.schedule.turn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.Latches;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.policy.Room;
import io.pipelane.switcher.schedule.policy.SchedulingPolicies;
import io.pipelane.switcher.schedule.queue.BatchRules;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.schedule.queue.Requests;
import io.pipelane.switcher.schedule.queue.Terms;
import io.pipelane.switcher.sharing.OfflineGate;
import io.pipelane.switcher.sharing.OnlineWork;
import io.pipelane.switcher.sharing.SharingState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Offline runs of ten segments at the gate, with threads as lanes have them. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GateTurnsTest {
  private static final int SEGMENTS = 10;
  private static final int LANES = 2;

  private final Estimates estimates = new Estimates(_ -> 0);
  private final OnlineWork online = new OnlineWork();
  private final OfflineGate gate = new OfflineGate(true, 0, LANES, online, System::nanoTime);
  private final RequestQueue queue =
      new RequestQueue(
          SchedulingPolicies.of(
              PipelaneConfig.defaults().scheduling(),
              estimates,
              new Room(estimates, Long.MAX_VALUE, () -> Long.MAX_VALUE),
              gate),
          estimates,
          LANES,
          1_000_000,
          Long.MAX_VALUE,
          System::nanoTime);
  private final Turns turns =
      new Turns(
          LANES, new Precedence(queue, _ -> true, true, 2), estimates, gate, System::nanoTime);
  private final AtomicInteger ended = new AtomicInteger();

  private void submit(Priority priority) {
    QueuedRequest _ = submitted(priority);
  }

  private QueuedRequest submitted(Priority priority) {
    InferenceRequest asked = Requests.request("m", OptionalLong.empty());
    return priority == Priority.ONLINE
        ? queue.submit(asked, online.begin(new Ignored()))
        : queue.submit(asked.offline(), new Ignored());
  }

  private static boolean isOffline(Turn turn) {
    return turn.progress().request().request().priority() == Priority.OFFLINE;
  }

  private List<Future<?>> serve(ExecutorService threads, Consumer<Turn> run) {
    List<Future<?>> lanes = new ArrayList<>();
    for (int i = 0; i < 2 * LANES; i++) {
      lanes.add(threads.submit(() -> serve(run)));
    }
    return lanes;
  }

  private void serve(Consumer<Turn> run) {
    Turn turn = turns.newTurn();
    for (@Nullable QueuedRequest next = turn.next(); next != null; next = turn.next()) {
      turn.progress().segments(SEGMENTS);
      run.accept(turn);
      next.handler().completed(new InferenceTimings(0, 0, 0));
      ended.incrementAndGet();
    }
  }

  private void awaitEnded(int count) {
    while (ended.get() < count) {
      Thread.onSpinWait();
    }
  }

  @Test
  void offlineRun_onlineRequestComesAndGoes_isHeldMeanwhile() throws Exception {
    CountDownLatch atGate = new CountDownLatch(1);
    CountDownLatch mayPass = new CountDownLatch(1);
    CountDownLatch mayAnswer = new CountDownLatch(1);
    AtomicInteger segment = new AtomicInteger();
    Consumer<Turn> run =
        turn -> {
          if (!isOffline(turn)) {
            Latches.await(mayAnswer);
            return;
          }
          for (int i = 0; i < SEGMENTS; i++) {
            if (i == 3) {
              atGate.countDown();
              Latches.await(mayPass);
            }
            turn.beforeSegment(i);
            segment.set(i);
          }
        };
    try (ExecutorService threads = Executors.newFixedThreadPool(2 * LANES)) {
      List<Future<?>> lanes = serve(threads, run);
      submit(Priority.OFFLINE);
      atGate.await();
      submit(Priority.ONLINE);
      mayPass.countDown();
      submit(Priority.OFFLINE);
      while (turns.preemptions().runs() == 0) {
        Thread.onSpinWait();
      }
      assertEquals(2, segment.get(), "held, though a lane is idle");
      assertFalse(gate.runs().ranSince(gate.runs().mark()), "it stands at its gate");
      assertFalse(gate.mayBegin());
      assertEquals(0, ended.get());
      mayAnswer.countDown();
      awaitEnded(3);
      queue.close();
      for (Future<?> lane : lanes) {
        lane.get();
      }
    }
    assertEquals(SEGMENTS - 1, segment.get());
    assertTrue(gate.runs().counts().heldNanos() > 0);
  }

  /** As a worker heeds it; shares are not kept. */
  private static final class Word implements StopWord {
    volatile double allowed = 1;
    volatile boolean stands;
    volatile long expectedUntil;
    volatile @Nullable StatusException ended;
    private final boolean stops;

    Word(boolean stops) {
      this.stops = stops;
    }

    @Override
    public boolean stops() {
      return stops;
    }

    @Override
    public void expect(long fromNanos, long untilNanos) {
      expectedUntil = untilNanos;
    }

    @Override
    public void end(StatusException reason) {
      ended = reason;
    }

    @Override
    public void allow(double share) {
      allowed = share;
    }

    @Override
    public boolean stands() {
      return stands;
    }

    void pass() {
      if (allowed <= 0) {
        stands = true;
        while (allowed <= 0) {
          Thread.onSpinWait();
        }
        stands = false;
      }
    }
  }

  /** A run elsewhere computes no segment while its stop word says so. */
  private void computeElsewhere(Turn turn, Runnable segment) {
    Word word = new Word(true);
    try (WeightArrivals.Elsewhere _ = turn.computesElsewhere(word)) {
      for (int i = 0; i < SEGMENTS; i++) {
        word.pass();
        segment.run();
      }
    }
  }

  /** A thread of its own serves, and its offline run stands where the test wants it to. */
  @Test
  void offlineRunElsewhere_shareChanges_theWordSaysSoAndItRanUntilItStands() throws Exception {
    CompletableFuture<Turn> began = new CompletableFuture<>();
    CountDownLatch mayEnd = new CountDownLatch(1);
    Word word = new Word(true);
    Consumer<Turn> run =
        turn -> {
          try (WeightArrivals.Elsewhere _ = turn.computesElsewhere(word)) {
            began.complete(turn);
            Latches.await(mayEnd);
          }
        };
    try (ExecutorService threads = Executors.newFixedThreadPool(2 * LANES)) {
      List<Future<?>> lanes = serve(threads, run);
      gate.setShare(0.75);
      submit(Priority.OFFLINE);
      Turn turn = began.get();
      assertEquals(0.75, word.allowed);
      gate.setShare(0.25);
      assertEquals(0.25, word.allowed);
      gate.setShare(0.5);
      assertEquals(0.5, word.allowed);
      assertTrue(gate.runs().ranSince(gate.runs().mark()));
      gate.setShare(0);
      assertEquals(0, word.allowed);
      assertFalse(turn.stands(), "it computes on to its next gate");
      assertTrue(gate.runs().ranSince(gate.runs().mark()));
      word.stands = true;
      assertTrue(turn.stands());
      long mark = gate.runs().mark();
      assertFalse(gate.runs().ranSince(mark));
      gate.setShare(1);
      assertEquals(1, word.allowed);
      assertTrue(gate.runs().ranSince(mark));
      mayEnd.countDown();
      awaitEnded(1);
      queue.close();
      for (Future<?> lane : lanes) {
        lane.get();
      }
    }
  }

  @Test
  void offlineRunElsewhere_onlineRequestComesAndGoes_isStoppedMeanwhile() throws Exception {
    CountDownLatch underWay = new CountDownLatch(1);
    CountDownLatch mayAnswer = new CountDownLatch(1);
    AtomicInteger segments = new AtomicInteger();
    AtomicBoolean onlineRuns = new AtomicBoolean();
    Consumer<Turn> run =
        turn -> {
          if (isOffline(turn)) {
            computeElsewhere(
                turn,
                () -> {
                  underWay.countDown();
                  while (segments.get() == 0 && turns.preemptions().runs() == 0) {
                    Thread.onSpinWait();
                  }
                  assertFalse(onlineRuns.get() && segments.get() > 0);
                  segments.incrementAndGet();
                });
          } else {
            onlineRuns.set(true);
            Latches.await(mayAnswer);
            onlineRuns.set(false);
          }
        };
    try (ExecutorService threads = Executors.newFixedThreadPool(2 * LANES)) {
      List<Future<?>> lanes = serve(threads, run);
      submit(Priority.OFFLINE);
      underWay.await();
      submit(Priority.ONLINE);
      while (!onlineRuns.get() || segments.get() == 0) {
        Thread.onSpinWait();
      }
      assertEquals(1, turns.preemptions().runs());
      assertEquals(1, segments.get(), "its segment came to an end, and no other was begun");
      mayAnswer.countDown();
      awaitEnded(2);
      queue.close();
      for (Future<?> lane : lanes) {
        lane.get();
      }
    }
    assertEquals(SEGMENTS, segments.get());
    assertTrue(gate.runs().counts().heldNanos() > 0);
  }

  /** Requests have come every minute until a moment ago, so the next comes in about one. */
  @Test
  void offlineRunElsewhere_onlineRequestIsExpected_isToldWhen() throws Exception {
    CountDownLatch underWay = new CountDownLatch(1);
    CountDownLatch mayEnd = new CountDownLatch(1);
    Word word = new Word(true);
    long minute = Duration.ofMinutes(1).toNanos();
    long latest = System.nanoTime();
    for (int i = 6; i >= 0; i--) {
      online.arrived(latest - i * minute);
    }
    Turn turn = turns.newTurn();
    Thread lane =
        Thread.ofPlatform()
            .start(
                () -> {
                  QueuedRequest _ = Objects.requireNonNull(turn.next());
                  try (WeightArrivals.Elsewhere _ = turn.computesElsewhere(word)) {
                    underWay.countDown();
                    Latches.await(mayEnd);
                  }
                });
    submit(Priority.OFFLINE);
    underWay.await();
    assertTrue(
        word.expectedUntil > 0 && word.expectedUntil <= minute, Long.toString(word.expectedUntil));
    online.arrived(latest + 1);
    online.arrived(latest + 2);
    online.begin(new Ignored()).completed(new InferenceTimings(0, 0, 0));
    assertEquals(0, word.expectedUntil, "gaps are regular no longer");
    mayEnd.countDown();
    lane.join();
  }

  /** Also one that heeds nothing else, as the device is given it whole. */
  @Test
  void runElsewhere_itsCallerGoes_isEnded() throws Exception {
    for (Word word : List.of(new Word(true), new Word(false))) {
      runElsewhereIsEnded(word, Priority.ONLINE, () -> {});
    }
  }

  @Test
  void offlineRunElsewhere_itsCallerGoesWhileItIsHeld_isEndedThoughTheGateIsClosed()
      throws Exception {
    Word word = new Word(true);
    runElsewhereIsEnded(
        word,
        Priority.OFFLINE,
        () -> {
          gate.setShare(0);
          assertEquals(0, word.allowed);
        });
    assertEquals(0, word.allowed, "it was not let go on");
  }

  private void runElsewhereIsEnded(Word word, Priority priority, Runnable before) throws Exception {
    CountDownLatch underWay = new CountDownLatch(1);
    Consumer<Turn> run =
        turn -> {
          try (WeightArrivals.Elsewhere _ = turn.computesElsewhere(word)) {
            underWay.countDown();
            while (word.ended == null) {
              Thread.onSpinWait();
            }
          }
        };
    int endedBefore = ended.get();
    Turn turn = turns.newTurn();
    Thread lane =
        Thread.ofPlatform()
            .start(
                () -> {
                  QueuedRequest next = Objects.requireNonNull(turn.next());
                  run.accept(turn);
                  assertThrows(StatusException.class, next::requireWanted);
                  ended.incrementAndGet();
                });
    QueuedRequest request = submitted(priority);
    underWay.await();
    before.run();
    request.cancel();
    lane.join();
    assertEquals(endedBefore + 1, ended.get());
    assertEquals(Status.CANCELLED, Objects.requireNonNull(word.ended).status());
    assertEquals(List.of(), turns.elsewhere);
  }

  /** A run of ten segments on this thread that is told to make way when it comes to the fourth. */
  private QueuedRequest tellsToMakeWay(Consumer<Turn> tell, List<Integer> segments) {
    QueuedRequest request = submitted(Priority.OFFLINE);
    Turn turn = turns.newTurn();
    assertSame(request, turn.next());
    turn.progress().segments(SEGMENTS);
    for (int i = 0; i < SEGMENTS; i++) {
      if (i == 3) {
        tell.accept(turn);
      }
      turn.beforeSegment(i);
      segments.add(i);
    }
    return request;
  }

  @Test
  void offlineRun_isToMakeWay_endsAtItsNextGateAndMayBeginAnew() {
    List<Integer> segments = new ArrayList<>();
    List<Turn> told = new ArrayList<>();
    StatusException end =
        assertThrows(
            StatusException.class,
            () ->
                tellsToMakeWay(
                    turn -> {
                      told.add(turn);
                      turn.makeWay(true);
                    },
                    segments));
    assertEquals(Status.UNAVAILABLE, end.status());
    assertEquals(List.of(0, 1, 2), segments);
    QueuedRequest request = told.getFirst().progress().request();
    assertTrue(request.makesWay());
    request.beginsAnew();
    queue.returned().giveBack(request);
    assertSame(request, turns.newTurn().next());
    request.requireWanted();
    assertEquals(1, request.endings());
  }

  /** Runs like it took nearly no time, so it is as good as done; but not where it may not go on. */
  @Test
  void offlineRun_isNearlyDone_comesToItsEndUnlessItMustGoAtOnce() {
    Requests.learn(estimates, "m", 1);
    List<Integer> segments = new ArrayList<>();
    tellsToMakeWay(turn -> turn.makeWay(false), segments);
    assertEquals(SEGMENTS, segments.size());
    assertThrows(StatusException.class, () -> tellsToMakeWay(turn -> turn.makeWay(true), segments));
  }

  @Test
  void offlineRunElsewhere_isToMakeWayWhileItIsHeld_isEndedThere() throws Exception {
    Word word = new Word(true);
    CompletableFuture<Turn> underWay = new CompletableFuture<>();
    Turn turn = turns.newTurn();
    Thread lane =
        Thread.ofPlatform()
            .start(
                () -> {
                  QueuedRequest _ = Objects.requireNonNull(turn.next());
                  try (WeightArrivals.Elsewhere _ = turn.computesElsewhere(word)) {
                    underWay.complete(turn);
                    while (word.ended == null) {
                      Thread.onSpinWait();
                    }
                  }
                });
    submit(Priority.OFFLINE);
    underWay.get().stands();
    gate.setState(SharingState.OVERLIMIT);
    assertEquals(0, word.allowed);
    turn.makeWay(false);
    lane.join();
    assertEquals(Status.UNAVAILABLE, Objects.requireNonNull(word.ended).status());
    assertEquals(0, word.allowed, "it was not let go on");
  }

  /** It goes to its end there, and somebody waits for it. */
  @Test
  void offlineRunElsewhere_itsModelLeaves_goesOnThoughOnlineWorkDoes() throws Exception {
    CountDownLatch underWay = new CountDownLatch(1);
    CountDownLatch mayAnswer = new CountDownLatch(1);
    AtomicInteger segments = new AtomicInteger();
    Consumer<Turn> run =
        turn -> {
          if (isOffline(turn)) {
            computeElsewhere(
                turn,
                () -> {
                  underWay.countDown();
                  while (segments.get() == 0 && turns.preemptions().runs() == 0) {
                    Thread.onSpinWait();
                  }
                  segments.incrementAndGet();
                });
          } else {
            Latches.await(mayAnswer);
          }
        };
    try (ExecutorService threads = Executors.newFixedThreadPool(2 * LANES)) {
      List<Future<?>> lanes = serve(threads, run);
      submit(Priority.OFFLINE);
      underWay.await();
      submit(Priority.ONLINE);
      queue.leave(Requests.request("m", OptionalLong.empty()).model());
      turns.modelLeaves();
      awaitEnded(1);
      assertEquals(SEGMENTS, segments.get());
      mayAnswer.countDown();
      queue.close();
      for (Future<?> lane : lanes) {
        lane.get();
      }
    }
  }

  /** Answers in order: the online one's does not wait for the offline one's, which is held. */
  @Test
  void offlineRunOfAModelThatKeepsOrder_onlineRequestComes_bothEnd() throws Exception {
    queue.agree(
        Requests.request("m", OptionalLong.empty()).model(),
        new Terms(ModelOptions.DEFAULT.limits(), new BatchRules(List.of(), 0, true), 0));
    CountDownLatch atGate = new CountDownLatch(1);
    CountDownLatch mayPass = new CountDownLatch(1);
    Consumer<Turn> run =
        turn -> {
          for (int i = 0; isOffline(turn) && i < SEGMENTS; i++) {
            if (i == 3) {
              atGate.countDown();
              Latches.await(mayPass);
            }
            turn.beforeSegment(i);
          }
        };
    try (ExecutorService threads = Executors.newFixedThreadPool(2 * LANES)) {
      List<Future<?>> lanes = serve(threads, run);
      submit(Priority.OFFLINE);
      atGate.await();
      submit(Priority.ONLINE);
      mayPass.countDown();
      awaitEnded(2);
      queue.close();
      for (Future<?> lane : lanes) {
        lane.get();
      }
    }
  }

  /** Requests that come back go first, but offline ones only where offline work may run. */
  @Test
  void giveBack_ofOfflineRequests_waitsForOnlineOnesThatAreUnderWay() {
    submit(Priority.OFFLINE);
    QueuedRequest failed = Objects.requireNonNull(queue.take());
    queue.returned().giveBack(failed);
    submit(Priority.ONLINE);
    QueuedRequest first = Objects.requireNonNull(queue.take());
    assertEquals(Priority.ONLINE, first.request().priority());
    assertFalse(queue.isEmpty());
    first.handler().completed(new InferenceTimings(0, 0, 0));
    assertSame(failed, queue.take());
    assertTrue(queue.isEmpty());
  }

  /** Whatever comes, states and memory included, all of it ends. */
  @Test
  void manyRequestsOfBothClasses_allEnd() throws Exception {
    long seed = new Random().nextLong();
    AtomicInteger computing = new AtomicInteger();
    Consumer<Turn> run =
        turn -> {
          Random random = new Random(seed + ended.get());
          if (random.nextInt(5) == 0) {
            turn.leave();
            Thread.onSpinWait();
            turn.retake();
          }
          if (random.nextBoolean()) {
            computeElsewhere(turn, Thread::onSpinWait);
            computeElsewhere(turn, Thread::onSpinWait); // As if the first had been lost.
            return;
          }
          for (int i = 0; i < SEGMENTS; i++) {
            turn.beforeSegment(i);
            assertTrue(computing.incrementAndGet() <= LANES, () -> "seed " + seed);
            Thread.onSpinWait();
            computing.decrementAndGet();
          }
        };
    int requests = 4_000;
    try (ExecutorService threads = Executors.newFixedThreadPool(2 * LANES)) {
      List<Future<?>> lanes = serve(threads, run);
      Random random = new Random(seed);
      SharingState[] states = SharingState.values();
      for (int i = 0; i < requests; i++) {
        submit(random.nextInt(3) == 0 ? Priority.ONLINE : Priority.OFFLINE);
        turns.requestCame();
        if (random.nextInt(20) == 0) {
          gate.setState(states[random.nextInt(states.length)]);
          gate.setShare(random.nextInt(4) == 0 ? 0 : 0.5 + random.nextDouble() / 2);
        }
        if (random.nextInt(8) == 0) {
          Thread.onSpinWait();
        }
      }
      gate.setState(SharingState.HEALTHY);
      gate.setShare(1);
      queue.close();
      for (Future<?> lane : lanes) {
        lane.get();
      }
    }
    assertEquals(requests, ended.get(), () -> "seed " + seed);
    assertEquals(0, gate.runs().counts().running());
  }
}
