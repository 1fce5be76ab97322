package io.pipelane.switcher.schedule.turn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.schedule.queue.Requests;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import io.pipelane.switcher.sharing.gate.OnlineWork;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One turn, runs in worker processes, and what becomes of it as an online one has computed. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HandedOnTurnsTest {
  private final Estimates estimates = new Estimates(_ -> 0);
  private final OnlineWork online = new OnlineWork();
  private final OfflineGate gate = new OfflineGate(true, 0, 1, online, System::nanoTime);
  private final RequestQueue queue =
      TurnQueues.of(PipelaneConfig.defaults(), estimates, gate, 1, System::nanoTime);
  private final Turns turns =
      new Turns(1, new Precedence(queue, _ -> true, true, 2), estimates, gate, System::nanoTime);
  private final Lane first = new Lane();
  private final Lane second = new Lane();

  /** A run that a lane's thread has begun in its worker, and what the test has become of it. */
  private static final class Run {
    final Turn turn;
    final HeededWord word = new HeededWord();
    final BlockingQueue<Boolean> steps = new ArrayBlockingQueue<>(2);
    final BlockingQueue<Boolean> done = new ArrayBlockingQueue<>(2);

    Run(Turn turn) {
      this.turn = turn;
    }

    boolean isOffline() {
      return turn.progress().request().request().priority() == Priority.OFFLINE;
    }

    /** Its worker says that it has computed. */
    void computes() throws InterruptedException {
      goesOn();
    }

    /** Its outputs are placed, and its caller told. */
    void ends() throws InterruptedException {
      goesOn();
    }

    private void goesOn() throws InterruptedException {
      steps.put(true);
      done.take();
    }
  }

  /** A thread that serves. */
  private final class Lane {
    final BlockingQueue<Run> runs = new ArrayBlockingQueue<>(1);
    private final Thread thread = Thread.ofPlatform().unstarted(this::serve);

    private void serve() {
      Turn turn = turns.newTurn();
      for (@Nullable QueuedRequest next = turn.next(); next != null; next = turn.next()) {
        Run run = new Run(turn);
        try {
          try (WeightArrivals.Elsewhere there = turn.computesElsewhere(run.word)) {
            runs.put(run);
            run.steps.take();
            there.computed();
            run.done.put(true);
          }
          run.steps.take();
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
        next.handler().completed(new InferenceTimings(0, 0, 0));
        run.done.add(true);
      }
    }
  }

  @BeforeEach
  void start() {
    first.thread.start();
    second.thread.start();
  }

  @AfterEach
  void stop() throws InterruptedException {
    queue.close();
    for (Lane lane : List.of(first, second)) {
      lane.thread.join(Duration.ofSeconds(10));
      lane.thread.interrupt(); // Where the test has failed on its way.
    }
    assertFalse(online.isInFlight());
  }

  private void submit(Priority priority) {
    InferenceRequest asked = Requests.request("m", OptionalLong.empty());
    QueuedRequest _ =
        priority == Priority.ONLINE
            ? queue.submit(asked, online.begin(new Ignored()))
            : queue.submit(asked.offline(), new Ignored());
    turns.requestCame();
  }

  /** The run that begins next, whichever lane has it. */
  private Run next() throws InterruptedException {
    while (true) {
      for (Lane lane : new Lane[] {first, second}) {
        @Nullable Run run = lane.runs.poll();
        if (run != null) {
          return run;
        }
      }
      Thread.onSpinWait();
    }
  }

  @Test
  void onlineRunHasComputed_theOfflineRunPausedForItGoesOnBeforeItsEnd() throws Exception {
    submit(Priority.OFFLINE);
    Run offline = next();
    assertTrue(offline.isOffline());
    submit(Priority.ONLINE);
    Run run = next();
    assertFalse(run.isOffline());
    assertEquals(0, offline.word.allowed, "it is stopped");
    long mark = gate.runs().mark();
    run.computes();
    assertFalse(online.isInFlight());
    assertEquals(1, offline.word.allowed, "the turn is its own again");
    assertTrue(gate.runs().ranSince(mark));
    assertFalse(
        run.turn.progress().offlineRanSince(mark, gate.runs()),
        "not beside what the online run computed");
    submit(Priority.ONLINE);
    while (offline.word.allowed > 0) {
      Thread.onSpinWait();
    }
    run.ends();
    Run again = next();
    assertFalse(again.isOffline());
    assertTrue(online.isInFlight());
    again.computes();
    assertEquals(1, offline.word.allowed);
    again.ends();
    offline.computes();
    offline.ends();
  }

  /** Something failed behind its end, and it is made again. */
  @Test
  void onlineRunComputesAgain_theOfflineRunIsStoppedForItOnceMore() throws Exception {
    submit(Priority.OFFLINE);
    Run offline = next();
    submit(Priority.ONLINE);
    Run run = next();
    run.computes();
    assertEquals(1, offline.word.allowed);
    run.turn.progress().beginsAnew();
    assertTrue(online.isInFlight());
    assertEquals(0, offline.word.allowed);
    run.ends();
    assertFalse(online.isInFlight());
    while (offline.word.allowed == 0) {
      Thread.onSpinWait();
    }
    offline.computes();
    offline.ends();
  }

  @Test
  void onlineRunHasComputedAndAnotherWaits_theOfflineRunStaysPaused() throws Exception {
    submit(Priority.OFFLINE);
    Run offline = next();
    submit(Priority.ONLINE);
    Run run = next();
    submit(Priority.ONLINE);
    run.computes();
    assertTrue(online.isInFlight());
    assertEquals(0, offline.word.allowed);
    run.ends();
    Run other = next();
    other.computes();
    assertEquals(1, offline.word.allowed);
    other.ends();
    offline.computes();
    offline.ends();
  }
}
