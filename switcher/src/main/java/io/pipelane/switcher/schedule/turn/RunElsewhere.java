package io.pipelane.switcher.schedule.turn;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.switcher.sharing.gate.ExpectedArrival;
import org.jspecify.annotations.Nullable;

/**
 * A {@link Turn}'s run that computes in another process, where nothing reaches it but its stop
 * word. Guarded by the turns' lock, but where it says so.
 */
final class RunElsewhere implements WeightArrivals.Elsewhere {
  private final Turns turns;
  private final Turn turn;
  private final StopWord word;

  RunElsewhere(Turns turns, Turn turn, StopWord word) {
    this.turns = turns;
    this.turn = turn;
    this.word = word;
  }

  /** It computes there from now on; who went before this was told to nobody. */
  void begin() {
    endIfUnwanted();
    if (word.stops()) {
      turns.begin(this);
      steer();
    }
  }

  /**
   * Of an online run: an offline run that was paused for it goes on with its turn, while outputs
   * are taken to its caller, where the next online request stops it by itself. Others wait for the
   * end, as the lane is not free before. Not under the lock.
   */
  @Override
  public void computed() {
    if (turn.isOffline()) {
      return;
    }
    RunProgress progress = turn.progress();
    progress.computedAt(turns.gate.runs().mark());
    progress.request().handler().computed();
    turns.lock.lock();
    try {
      if (turns.gate.stopsForOnline() && turns.queue.isEmpty()) {
        turns.handOn(turn, Turn::isOffline);
      }
    } finally {
      turns.lock.unlock();
    }
  }

  /** Its thread goes on here; not under the lock. */
  @Override
  public void close() {
    turn.returned(this);
  }

  /** Ends it where its caller has gone, or it makes way. */
  void endIfUnwanted() {
    @Nullable StatusException reason = turn.progress().request().withdrawal();
    if (reason != null) {
      word.end(reason);
    }
  }

  /** Lets it go on, as fast as the gate allows. */
  void goOn() {
    double allowed = allowed();
    goOn(allowed > 0 ? allowed : 1); // It has closed since; whoever closed it is about to say so.
  }

  /** An offline one is told what is expected to go before it. */
  private void goOn(double allowed) {
    long now = turns.nanoClock.getAsLong();
    @Nullable ExpectedArrival next = heedsGate() ? turns.gate.expected() : null;
    word.expect(
        next == null ? 0 : next.fromNanos() - now, next == null ? 0 : next.untilNanos() - now);
    word.allow(allowed);
  }

  private boolean heedsGate() {
    return turn.isOffline() && !turn.passes();
  }

  private double allowed() {
    return heedsGate() ? turns.gate.allowed() : 1;
  }

  /** Whether it stands at a gate, as far as is known. */
  boolean stands() {
    return word.stands();
  }

  /** Stops or slows an offline run, as the gate says now. */
  void steer() {
    if (!turn.computesAs(this) || !turn.isOffline()) {
      return;
    }
    double allowed = allowed();
    if (allowed > 0) {
      goOn(allowed);
    } else {
      stop();
      turns.settle();
    }
  }

  private void stop() {
    word.allow(0);
    turn.stopped();
  }

  private void stopFor(RunProgress other) {
    word.allow(0);
    turn.stoppedFor(other);
  }

  /** Hands its turn on to a paused run that goes before it, which was told to nobody until now. */
  void giveWayToPaused() {
    @Nullable Turn first = turn.computesAs(this) ? turns.pausedBefore(turn.progress()) : null;
    if (first != null) {
      stopFor(first.progress());
      first.resume();
    }
  }

  /** Gives its turn up where a run that has none goes before it; returns whether it does. */
  boolean giveTurnUp(RunProgress waiting, long waitingNanos) {
    if (!turn.computesAs(this)) {
      return false;
    }
    RunProgress progress = turn.progress();
    long remaining = progress.remainingNanos(turns.nanoClock.getAsLong());
    boolean gives = turns.precedence.givesTurnUp(progress, remaining, waiting, waitingNanos);
    if (gives) {
      stopFor(waiting);
    }
    return gives;
  }

  /** Stops it for a rival; not under the lock. */
  void giveWay() {
    RunProgress progress;
    long remaining;
    turns.lock.lock();
    try {
      if (!turn.computesAs(this)) {
        return;
      }
      progress = turn.progress();
      remaining = progress.remainingNanos(turns.nanoClock.getAsLong());
    } finally {
      turns.lock.unlock();
    }
    if (!turns.precedence.hasRival(progress, remaining)) {
      return;
    }
    turns.lock.lock();
    try {
      if (turn.computesAs(this) && turns.free.areAwaited()) {
        stop();
        turns.free.signal();
      }
    } finally {
      turns.lock.unlock();
    }
  }
}
