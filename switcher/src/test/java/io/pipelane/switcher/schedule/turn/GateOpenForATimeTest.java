package io.pipelane.switcher.schedule.turn;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.Latches;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.schedule.queue.Requests;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import io.pipelane.switcher.sharing.gate.OnlineWork;
import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One turn, and a gate that is open until shortly before the next online request is expected. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GateOpenForATimeTest {
  private static final long MILLI = Duration.ofMillis(1).toNanos();
  private static final long GAP = 10 * MILLI;

  private final AtomicLong clock = new AtomicLong(Duration.ofSeconds(1).toNanos());
  private final AtomicInteger looks = new AtomicInteger(); // Of the offline run's thread.
  private final Estimates estimates = new Estimates(_ -> 0);
  private final OnlineWork online = new OnlineWork();
  private final OfflineGate gate = new OfflineGate(true, 0, 1, online, this::now);
  private final RequestQueue queue =
      TurnQueues.of(PipelaneConfig.defaults(), estimates, gate, 1, clock::get);
  private final Turns turns =
      new Turns(1, new Precedence(queue, _ -> true, true, 2), estimates, gate, clock::get);
  private final CountDownLatch offlineHasBegun = new CountDownLatch(1);
  private final CountDownLatch offlineGoesOn = new CountDownLatch(1);
  private final CountDownLatch onlineHasBegun = new CountDownLatch(1);
  private final CountDownLatch onlineIsAnswered = new CountDownLatch(1);
  private final CountDownLatch laneGoesOn = new CountDownLatch(1);
  private final Thread offline = Thread.ofPlatform().unstarted(this::runOffline);

  private long now() {
    if (Thread.currentThread().equals(offline)) {
      looks.incrementAndGet();
    }
    return clock.get();
  }

  private void runOffline() {
    Turn turn = turns.newTurn();
    QueuedRequest _ = Objects.requireNonNull(turn.next());
    turn.progress().segments(2);
    turn.beforeSegment(0);
    offlineHasBegun.countDown();
    Latches.await(offlineGoesOn);
    turn.beforeSegment(1);
    turn.computesNoMore();
  }

  private void runOnline() {
    Turn turn = turns.newTurn();
    QueuedRequest request = Objects.requireNonNull(turn.next());
    onlineHasBegun.countDown();
    Latches.await(onlineIsAnswered);
    request.handler().completed(new InferenceTimings(0, 0, 0));
    Latches.await(laneGoesOn);
    QueuedRequest _ = turn.next();
  }

  private void awaitStanding(Thread.State how) {
    while (offline.getState() != how) {
      Thread.onSpinWait();
    }
  }

  private void submit(Priority priority) {
    InferenceRequest asked = Requests.request("m", OptionalLong.empty());
    QueuedRequest _ =
        priority == Priority.ONLINE
            ? queue.submit(asked, online.begin(new Ignored()))
            : queue.submit(asked.offline(), new Ignored());
  }

  /** Its thread saw the gate open and no turn free; once the turn is, the gate is closed. */
  @Test
  void heldRun_gateClosesForATimeBeforeATurnIsFree_goesOnWhenThatIsOver() throws Exception {
    long latest = clock.get();
    for (int i = 6; i >= 0; i--) {
      online.arrived(latest - i * GAP);
    }
    offline.start();
    submit(Priority.OFFLINE);
    offlineHasBegun.await();
    Thread lane = Thread.ofPlatform().start(this::runOnline);
    submit(Priority.ONLINE);
    clock.addAndGet(MILLI); // The segment's time.
    offlineGoesOn.countDown();
    onlineHasBegun.await();
    awaitStanding(Thread.State.WAITING);
    int before = looks.get();
    onlineIsAnswered.countDown();
    while (looks.get() == before) {
      Thread.onSpinWait();
    }
    awaitStanding(Thread.State.WAITING);

    clock.set(latest + GAP - MILLI / 2);
    laneGoesOn.countDown();
    while (queue.idle() == 0) {
      Thread.onSpinWait();
    }
    clock.set(latest + 3 * GAP); // Nobody asks any more.

    offline.join();
    queue.close();
    lane.join();
  }
}
