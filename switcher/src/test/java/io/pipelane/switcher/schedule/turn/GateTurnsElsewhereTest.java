package io.pipelane.switcher.schedule.turn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.Latches;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.Requests;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Offline runs in other processes make way for online work. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GateTurnsElsewhereTest extends GateTurnsFixture {
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
}
