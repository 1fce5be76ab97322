package io.pipelane.switcher.schedule.turn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.execution.WeightArrivals;
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
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One turn, which others have when a run that gave it up wants it again; runs of ten segments. */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RetakenTurnsTest {
  private static final long MILLISECOND = 1_000_000;
  private static final int SEGMENTS = 10;

  private final AtomicLong now = new AtomicLong();
  private final Estimates estimates = new Estimates(_ -> 0);
  private final RequestQueue queue =
      TurnQueues.of(PipelaneConfig.of(Map.of("scheduling.policy", "srtf")), estimates, 1, now::get);
  private final Turns turns =
      new Turns(
          1,
          new Precedence(queue, _ -> true, true, 2),
          estimates,
          OfflineGate.open(now::get),
          now::get);
  private final HeededWord word = new HeededWord();

  RetakenTurnsTest() {
    Requests.learn(estimates, "long", SEGMENTS * MILLISECOND);
    Requests.learn(estimates, "short", MILLISECOND);
  }

  private static InferenceRequest request(String model) {
    return Requests.request(model, OptionalLong.empty());
  }

  private static String model(Turn turn) {
    return turn.progress().request().key().model().model();
  }

  private Turn begun(InferenceRequest request) {
    QueuedRequest submitted = queue.submit(request, new Ignored());
    Turn turn = turns.newTurn();
    assertEquals(submitted, turn.next());
    turn.progress().segments(SEGMENTS);
    return turn;
  }

  private boolean isPaused(Turn turn) {
    turns.lock.lock();
    try {
      return turns.paused.contains(turn);
    } finally {
      turns.lock.unlock();
    }
  }

  /** A long run, a short one that goes before it, and waits for memory meanwhile. */
  private final class LongAndShort {
    final CountDownLatch atGate = new CountDownLatch(1);
    final CountDownLatch submitted = new CountDownLatch(1);
    final CountDownLatch hasRoom = new CountDownLatch(1);
    final CompletableFuture<Turn> shorter = new CompletableFuture<>();
    final List<String> ended = Collections.synchronizedList(new ArrayList<>());

    void serve() {
      Turn turn = turns.newTurn();
      for (@Nullable QueuedRequest next = turn.next(); next != null; next = turn.next()) {
        turn.progress().segments(SEGMENTS);
        boolean isLong = model(turn).equals("long");
        if (!isLong) {
          turn.leave();
          Latches.await(hasRoom);
          shorter.complete(turn);
          turn.retake();
        }
        for (int segment = 0; segment < SEGMENTS; segment++) {
          if (isLong) {
            before(segment);
          }
          turn.beforeSegment(segment);
          now.addAndGet(isLong ? MILLISECOND : 0);
        }
        ended.add(model(turn));
      }
    }

    /** The short one comes before the fifth, and has what it waits for before the sixth. */
    private void before(int segment) {
      if (segment == 4) {
        atGate.countDown();
        Latches.await(submitted);
      } else if (segment == 5) {
        hasRoom.countDown();
        while (!isPaused(shorter.join())) {
          Thread.onSpinWait();
        }
      }
    }
  }

  @Test
  void retake_longerOneThatGaveWayWentOnMeanwhile_givesWayAgain() throws Exception {
    LongAndShort runs = new LongAndShort();
    QueuedRequest _ = queue.submit(request("long"), new Ignored());
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      List<Future<?>> lanes = List.of(threads.submit(runs::serve), threads.submit(runs::serve));
      runs.atGate.await();
      while (turns.spare() == 0) {
        Thread.onSpinWait();
      }
      QueuedRequest _ = queue.submit(request("short"), new Ignored());
      runs.submitted.countDown();
      while (runs.ended.size() < 2) {
        Thread.onSpinWait();
      }
      queue.close();
      for (Future<?> lane : lanes) {
        lane.get();
      }
    }
    assertEquals(List.of("short", "long"), runs.ended);
    assertEquals(2, turns.preemptions().runs());
  }

  /** Whether a run is stopped elsewhere for a short one, and goes on when that waits again. */
  private void isStoppedForAShortOne(InferenceRequest request) {
    Turn shorter = begun(request("short"));
    shorter.leave();
    Turn longer = begun(request);
    try (WeightArrivals.Elsewhere _ = longer.computesElsewhere(word)) {
      assertEquals(1, word.allowed);
      shorter.retake();
      assertEquals(0, word.allowed);
      shorter.leave();
      assertEquals(1, word.allowed);
      shorter.retake();
      assertEquals(0, word.allowed);
      shorter.leave();
      assertEquals(1, word.allowed);
    }
  }

  @Test
  void retake_longerOneComputesElsewhere_stopsItUntilItWaitsAgain() {
    isStoppedForAShortOne(request("long"));
  }

  @Test
  void retake_offlineRunComputesElsewhere_stopsItUntilItWaitsAgain() {
    isStoppedForAShortOne(request("short").offline());
  }

  /** What has the turn then has not begun to compute there, and cannot be told before. */
  @Test
  void retake_longerOneIsAboutToComputeElsewhere_isStoppedAsItBegins() throws Exception {
    Turn shorter = begun(request("short"));
    shorter.leave();
    Turn longer = begun(request("long"));
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<?> retaken = threads.submit(shorter::retake);
      while (!isPaused(shorter)) {
        Thread.onSpinWait();
      }
      try (WeightArrivals.Elsewhere _ = longer.computesElsewhere(word)) {
        retaken.get();
        assertEquals(0, word.allowed);
      }
    }
  }

  /** It was thought to be short, and turns out to be the longer one. */
  @Test
  void retake_provesLongerThanTheOneThatGaveWay_goesOnUntilItWaitsAgain() {
    Turn unknown = begun(request("unknown"));
    unknown.leave();
    Turn longer = begun(request("long"));
    try (WeightArrivals.Elsewhere _ = longer.computesElsewhere(word)) {
      unknown.retake();
      assertEquals(0, word.allowed);
      for (int segment = 0; segment < SEGMENTS; segment++) {
        unknown.beforeSegment(segment);
        now.addAndGet(SEGMENTS * MILLISECOND);
      }
      assertEquals(0, word.allowed, "they do not change places");
      unknown.leave();
      assertEquals(1, word.allowed);
    }
  }

  /** By its rank it would be behind the run that is stopped for it. */
  @Test
  void requestBeginsBeforeAShorterRun_asItIsUrgent_keepsItsTurn() throws Exception {
    Turn shorter = begun(request("short"));
    try (ExecutorService threads = Executors.newSingleThreadExecutor();
        WeightArrivals.Elsewhere _ = shorter.computesElsewhere(word)) {
      Future<Double> allowed =
          threads.submit(
              () -> {
                Turn urgent = turns.newTurn();
                QueuedRequest _ = Objects.requireNonNull(urgent.next());
                urgent.progress().segments(SEGMENTS);
                for (int segment = 0; segment < SEGMENTS; segment++) {
                  urgent.beforeSegment(segment);
                }
                double meanwhile = word.allowed;
                urgent.leave();
                return meanwhile;
              });
      while (turns.spare() == 0) {
        Thread.onSpinWait();
      }
      long deadline = SEGMENTS * MILLISECOND + MILLISECOND / 2;
      QueuedRequest _ =
          queue.submit(Requests.request("long", OptionalLong.of(deadline)), new Ignored());
      turns.requestCame();
      assertEquals(0, allowed.get());
      assertEquals(1, word.allowed);
    }
  }

  /** When the request came the other thread waited for memory, which it then was refused. */
  @Test
  void threadIsSpare_onlyAfterTheRequestCame_longerRunElsewhereIsStoppedForIt() throws Exception {
    CountDownLatch refused = new CountDownLatch(1);
    CompletableFuture<Boolean> waits = new CompletableFuture<>();
    QueuedRequest _ = queue.submit(request("cold"), new Ignored());
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<@Nullable QueuedRequest> taken =
          threads.submit(
              () -> {
                Turn turn = turns.newTurn();
                QueuedRequest _ = Objects.requireNonNull(turn.next());
                turn.leave();
                waits.complete(true);
                Latches.await(refused);
                @Nullable QueuedRequest next = turn.next();
                turn.leave();
                return next;
              });
      assertEquals(true, waits.get());
      Turn longer = begun(request("long"));
      try (WeightArrivals.Elsewhere _ = longer.computesElsewhere(word)) {
        QueuedRequest shorter = queue.submit(request("short"), new Ignored());
        turns.requestCame();
        assertEquals(1, word.allowed, "nobody could run it");
        refused.countDown();
        assertEquals(shorter, taken.get());
        assertEquals(1, word.allowed, "it goes on");
      }
    }
    assertEquals(1, turns.preemptions().runs());
  }
}
