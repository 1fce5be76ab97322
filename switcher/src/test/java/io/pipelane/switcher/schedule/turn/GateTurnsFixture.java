package io.pipelane.switcher.schedule.turn;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.StopWord;
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
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;

/** A queue of online and offline requests, whose runs a gate holds. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class GateTurnsFixture {
  static final int SEGMENTS = 10;

  static final int LANES = 2;

  final Estimates estimates = new Estimates(_ -> 0);

  final OnlineWork online = new OnlineWork();

  final OfflineGate gate = new OfflineGate(true, 0, LANES, online, System::nanoTime);

  final RequestQueue queue =
      TurnQueues.of(PipelaneConfig.defaults(), estimates, gate, LANES, System::nanoTime);

  final Turns turns =
      new Turns(
          LANES, new Precedence(queue, _ -> true, true, 2), estimates, gate, System::nanoTime);

  final AtomicInteger ended = new AtomicInteger();

  void submit(Priority priority) {
    QueuedRequest _ = submitted(priority);
  }

  QueuedRequest submitted(Priority priority) {
    InferenceRequest asked = Requests.request("m", OptionalLong.empty());
    return priority == Priority.ONLINE
        ? queue.submit(asked, online.begin(new Ignored()))
        : queue.submit(asked.offline(), new Ignored());
  }

  static boolean isOffline(Turn turn) {
    return turn.progress().request().request().priority() == Priority.OFFLINE;
  }

  List<Future<?>> serve(ExecutorService threads, Consumer<Turn> run) {
    List<Future<?>> lanes = new ArrayList<>();
    for (int i = 0; i < 2 * LANES; i++) {
      lanes.add(threads.submit(() -> serve(run)));
    }
    return lanes;
  }

  void serve(Consumer<Turn> run) {
    Turn turn = turns.newTurn();
    for (@Nullable QueuedRequest next = turn.next(); next != null; next = turn.next()) {
      turn.progress().segments(SEGMENTS);
      run.accept(turn);
      next.handler().completed(new InferenceTimings(0, 0, 0));
      ended.incrementAndGet();
    }
  }

  void awaitEnded(int count) {
    while (ended.get() < count) {
      Thread.onSpinWait();
    }
  }

  /** As a worker heeds it; shares are not kept. */
  static final class Word implements StopWord {
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
  void computeElsewhere(Turn turn, Runnable segment) {
    Word word = new Word(true);
    try (WeightArrivals.Elsewhere _ = turn.computesElsewhere(word)) {
      for (int i = 0; i < SEGMENTS; i++) {
        word.pass();
        segment.run();
      }
    }
  }
}
