package io.pipelane.switcher.schedule.turn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.Latches;
import io.pipelane.switcher.schedule.queue.BatchRules;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.Requests;
import io.pipelane.switcher.schedule.queue.Terms;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs give way at gates, in turns of two classes of work. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GateTurnsTest extends GateTurnsFixture {
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
