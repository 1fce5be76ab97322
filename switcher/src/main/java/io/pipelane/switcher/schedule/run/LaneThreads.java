package io.pipelane.switcher.schedule.run;

import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.lanes.execution.BorrowedSpace;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.memory.Lease;
import io.pipelane.switcher.memory.MemoryDaemon;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.PastRuns;
import io.pipelane.switcher.schedule.estimate.RunKey;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.schedule.turn.Precedence;
import io.pipelane.switcher.schedule.turn.Preemptions;
import io.pipelane.switcher.schedule.turn.RunProgress;
import io.pipelane.switcher.schedule.turn.Turn;
import io.pipelane.switcher.schedule.turn.Turns;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import io.pipelane.switcher.worker.Worker;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The platform threads that carry requests from the queue through a run. As many compute at once as
 * there are turns; others are spare, for when runs give way. They end when the queue is closed and
 * empty.
 */
final class LaneThreads {
  private static final System.Logger LOG = System.getLogger(LaneThreads.class.getName());

  /** After which a run is refused whose room others took each time before it was in its lane. */
  private static final int MOST_LOSSES = 20;

  /** A shorter run, on a device that is given work ahead of its time, comes to its end. */
  private static final long WORTH_STOPPING_NANOS = 5_000_000;

  private final RequestQueue queue;
  private final Turns turns;
  private final Estimates estimates;
  private final MemoryDaemon daemon;
  private final LongSupplier nanoClock;
  private final OfflineGate gate;
  private final Worker worker;
  private final LaneRuns runs;
  private final LaneTrial trial;

  private final StuckThreads stuck;
  private final List<Thread> threads;

  /**
   * Starts the threads.
   *
   * @param trial finds how many runs compute at once, from as many as may
   * @param spare threads beyond those, for what runs while others are paused; 0 where none is
   * @param config whether runs give way to requests at their gates, and how often an online run
   *     begins anew, as others need its memory
   */
  LaneThreads(LaneTrial trial, int spare, SchedulingConfig config, RunParts parts) {
    this.queue = parts.queue();
    this.estimates = parts.estimates();
    this.daemon = parts.daemon();
    this.gate = parts.gate();
    this.worker = parts.worker();
    this.nanoClock = parts.nanoClock();
    Lanes lanes = parts.memory().lanes();
    this.runs =
        new LaneRuns(lanes, parts.memory().offline(), daemon.loans(), worker, estimates.history());
    this.trial = trial;
    int count = trial.lanes();
    Precedence precedence =
        new Precedence(
            queue,
            request -> lanes.hasRoom(runs.expectedBytes(request.key())),
            config.preemption(),
            config.restarts());
    this.turns = new Turns(count, precedence, estimates, gate, nanoClock);
    this.stuck = new StuckThreads(count + spare, queue);
    this.threads =
        IntStream.range(0, count + spare)
            .mapToObj(i -> Thread.ofPlatform().name("lane-" + i).daemon().start(this::serve))
            .toList();
  }

  /**
   * Waits until the queue is closed and empty and every run has ended.
   *
   * @return false when the time was over before, or the waiting thread was interrupted
   */
  public boolean join(Duration timeout) {
    long deadline = nanoClock.getAsLong() + timeout.toNanos();
    try {
      for (Thread thread : threads) {
        if (!thread.join(Duration.ofNanos(Math.max(0, deadline - nanoClock.getAsLong())))) {
          return false;
        }
      }
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** Forgets what a model's runs took: it is registered no longer. */
  public void forget(ModelVersion version) {
    estimates.forget(version);
  }

  /** A request has come to the queue: a run that computes elsewhere may have to give way to it. */
  public void requestCame() {
    turns.requestCame();
  }

  /** A model leaves, as the queue has been told: nobody waits long for its offline runs. */
  public void modelLeaves() {
    turns.modelLeaves();
  }

  /** How many runs may compute at once at present. */
  public int lanes() {
    return trial.lanes();
  }

  /** Whether no request is run for now, as worker processes that do not end hold all threads. */
  boolean standStill() {
    return stuck.areAll();
  }

  /** What has been interrupted so far. */
  public Preemptions preemptions() {
    return turns.preemptions();
  }

  private void serve() {
    Turn turn = turns.newTurn();
    @Nullable QueuedRequest next = turn.next();
    while (next != null) {
      answer(next, turn);
      next.polled().served(turn.progress().hadNanos(nanoClock.getAsLong()));
      queue.ended(next);
      if (trial.review(nanoClock.getAsLong())) {
        limitTurns();
      }
      next = turn.next();
    }
  }

  /** Whoever comes last says what holds, though others have found it changed meanwhile. */
  private synchronized void limitTurns() {
    turns.limit(trial.lanes());
  }

  /**
   * Runs a request on the calling thread, once it has a turn.
   *
   * @param answer given where the run ends well
   * @param held the weights of the request's model, for longer than the run
   * @throws RuntimeException or {@link Error} for whatever reason it does not
   */
  void run(InferenceRequest request, ResultHandler handler, Answer answer, Lease held) {
    QueuedRequest queued = queue.past(request, handler);
    Turn turn = turns.newTurn();
    turn.run(
        queued,
        () -> {
          try {
            answer.complete(
                new Attempt(queued, answer, turn, () -> daemon.parts().share(held)).run());
          } catch (LaneWaitsForWeightsException e) {
            throw e.refusal(); // Whoever holds the weights does not let go of them.
          }
        });
  }

  /** Gives one answer, exactly one, and lives on whatever happens: a lane has no other thread. */
  private void answer(QueuedRequest queued, Turn turn) {
    Answer answer =
        new Answer(queued.request().model(), queued.handler())
            .whenGiven(queue::answers)
            .whenStuck(stuck::count);
    try {
      answer.complete(run(queued, answer, turn));
    } catch (Throwable e) {
      if (!beginsAnew(queued, answer)) {
        queued.failed();
        answer.fail(queued.told(e));
      }
    }
    if (answer.wasStuck()) {
      stuck.goesOn();
    }
  }

  /**
   * Has a run that made way begin anew; one of several falls apart into them, which do. Where
   * nothing can run any more they find so, and why.
   */
  private boolean beginsAnew(QueuedRequest queued, Answer answer) {
    if (answer.isGiven() || !queued.makesWay()) {
      return false;
    }
    switch (queued.request().priority()) {
      case ONLINE -> turns.madeWay();
      case OFFLINE -> gate.runs().madeWay();
    }
    if (queued.isBatch()) {
      return false;
    }
    queued.beginsAnew();
    queue.returned().giveBack(queued);
    return true;
  }

  /** Gives the answer only where a run goes on after it. */
  private InferenceTimings run(QueuedRequest queued, Answer answer, Turn turn) {
    Supplier<Lease> weights =
        () -> daemon.acquire(queued.request().model(), queued.request().priority(), turn);
    Attempt first = new Attempt(queued, answer, turn, weights);
    try {
      return first.run();
    } catch (LaneWaitsForWeightsException e) {
      return runWithRoom(queued, answer, turn, weights, e);
    } catch (RuntimeException e) {
      boolean isOver =
          answer.isGiven() || queued.request().isLate(nanoClock.getAsLong()) || !worker.isUsable();
      if (!first.lacksWeights || isOver) {
        throw e;
      }
      LOG.log(Level.WARNING, "weights of {0} come in once more: {1}", queued.request().model(), e);
      return new Attempt(queued, answer, turn, weights).run();
    }
  }

  /** Has the weights of others give way to a run that has let go of its own. */
  private InferenceTimings runWithRoom(
      QueuedRequest queued,
      Answer answer,
      Turn turn,
      Supplier<Lease> weights,
      LaneWaitsForWeightsException refused) {
    LaneWaitsForWeightsException needs = refused;
    int losses = 0;
    turn.leave();
    stuck.awaitRoom(refused.refusal());
    try {
      while (true) {
        try {
          return new Attempt(queued, answer, turn, weights).runWithRoom(needs);
        } catch (LaneWaitsForWeightsException e) {
          boolean hasLostIt = e.laneBytes() <= needs.laneBytes(); // Others' sessions took it.
          if (hasLostIt && ++losses == MOST_LOSSES) {
            throw e.refusal();
          }
          needs = e;
          turn.leave();
        }
      }
    } finally {
      stuck.leaveRoom();
    }
  }

  /**
   * One run of a request. Its weights may have failed to come because of another device, over whose
   * link or out of whose pages they came. Then another attempt is worth it, for which the daemon
   * has them come from the host.
   */
  private final class Attempt {
    private final QueuedRequest queued;
    private final Answer answer;
    private final Turn turn;
    private final Supplier<Lease> weights;
    private final RunProgress progress;
    private final long begin = nanoClock.getAsLong();
    private final long waitedBefore;
    private boolean lacksWeights;

    Attempt(QueuedRequest queued, Answer answer, Turn turn, Supplier<Lease> weights) {
      this.queued = queued;
      this.answer = answer;
      this.turn = turn;
      this.weights = weights;
      this.progress = turn.progress();
      progress.beginsAnew();
      this.waitedBefore = progress.waitedNanos();
    }

    InferenceTimings run() {
      return run(_ -> () -> {});
    }

    /** The same once there is room for its lane. */
    InferenceTimings runWithRoom(LaneWaitsForWeightsException needs) {
      return run(lease -> runs.awaitRoom(needs, lease, turn));
    }

    private InferenceTimings run(Function<Lease, BorrowedSpace.Borrowing> beforehand) {
      InferenceRequest request = queued.request();
      RunKey key = queued.key();
      long expectedStall = estimates.stallNanos(key);
      long expected = expectedStall + estimates.executionNanos(key);
      long mark = gate.runs().mark();
      try (Lease lease = weights.get();
          BorrowedSpace.Borrowing borrowing = beforehand.apply(lease)) {
        turn.retake();
        progress.segments(lease.segments());
        lease.controlledBy(turn, segmentsAhead(request, expected));
        run(lease, borrowing);
        InferenceTimings timings = timings(lease);
        estimates.ran(key, expected, expectedStall, timings.executeNanos(), timings.stallNanos());
        gate.runTime().ran(timings.executeNanos() - timings.stallNanos());
        boolean isWarm = expectedStall == 0 && timings.stallNanos() == 0;
        if (isWarm && request.priority() == Priority.ONLINE) {
          PastRuns kind = estimates.history().of(key);
          gate.cost()
              .ran(
                  request.model(),
                  kind,
                  timings.executeNanos(),
                  progress.offlineRanSince(mark, gate.runs()));
        }
        if (request.priority() == Priority.OFFLINE) {
          gate.trial().offlineRan(estimates.executionNanos(key));
          trial.offlineRan(estimates.history().of(key).bestNanos());
        } else {
          trial.onlineRan(
              estimates.history().of(key).bestNanos(),
              nanoClock.getAsLong() - queued.submittedNanos());
        }
        return timings;
      }
    }

    private void run(Lease lease, BorrowedSpace.Borrowing borrowing) {
      Worker.Caller caller = answer.toCaller(() -> timings(lease));
      try {
        runs.run(queued, lease, LaneRuns.lettingGo(borrowing::close, caller), turn);
      } finally {
        lacksWeights = lease.failed();
      }
    }

    /** Waiting for others is waiting in line, wherever in the run it is. */
    private InferenceTimings timings(Lease lease) {
      long waited = progress.waitedNanos() - waitedBefore;
      return new InferenceTimings(
          begin - queued.submittedNanos() + waited,
          lease.stallNanos(),
          nanoClock.getAsLong() - begin - waited,
          lease.segmentNanos());
    }
  }

  /** Two keep a device busy. */
  private int segmentsAhead(InferenceRequest request, long expectedNanos) {
    if (request.priority() == Priority.OFFLINE) {
      return gate.isQuiet() ? 2 : 1;
    }
    return expectedNanos >= WORTH_STOPPING_NANOS ? 2 : WeightArrivals.ALL;
  }
}
