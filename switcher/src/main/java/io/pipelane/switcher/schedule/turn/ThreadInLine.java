package io.pipelane.switcher.schedule.turn;

import io.pipelane.switcher.schedule.queue.QueuedRequest;
import org.jspecify.annotations.Nullable;

/**
 * A thread without a run on the way to its next one. Idle, it waits in the queue and then has a
 * turn. Spare, it waits for a turn that it gives to the request or the paused run that is next.
 * Belongs to the {@link Turn}.
 */
final class ThreadInLine {
  private final Turns turns;
  private final Turn turn;

  private record Paused(QueuedRequest request, long remainingNanos) {}

  ThreadInLine(Turns turns, Turn turn) {
    this.turns = turns;
    this.turn = turn;
  }

  /**
   * Takes the request that runs next, and a turn; blocks while there is none.
   *
   * @return null once the queue is closed and empty
   */
  @Nullable QueuedRequest next() {
    while (true) {
      @Nullable Paused best = awaitTurn();
      if (best == null) {
        return takeWhileIdle();
      }
      @Nullable QueuedRequest urgent =
          best.request.isLeaving()
              ? null
              : turns.queue.beforeRuns().take(best.request, best.remainingNanos);
      if (urgent != null) {
        turn.begin(urgent);
        turn.overtakes();
        turns.goesFirst(turn.progress());
        return urgent;
      }
      handOn();
    }
  }

  /** Gets a turn, and the paused run that is next; with none, the thread is idle from now on. */
  private @Nullable Paused awaitTurn() {
    turns.lock.lock();
    try {
      while (true) {
        if (turn.isHeld() && turns.free.areOwed()) { // Paid before anybody goes on with it.
          turn.giveUp();
        }
        if (turn.isHeld()) {
          @Nullable Turn best = turns.paused.next();
          if (best != null) {
            return new Paused(best.progress().request(), best.pause().remainingNanos());
          }
          turn.giveUp();
          turns.paused.lookAgain(PausedRuns::isHeldForATime);
          if (turns.free.letIdle()) {
            return null;
          }
        }
        turns.free.becomesSpare();
        askElsewhere();
        turns.free.await(() -> turns.paused.next() != null);
        turn.take();
      }
    } finally {
      turns.lock.unlock();
    }
  }

  /** When requests came for which runs elsewhere give way there was no thread to take them. */
  private void askElsewhere() {
    if (!turns.elsewhere.isEmpty() && !turns.queue.isEmpty()) {
      turns.lock.unlock();
      try {
        turns.requestCame();
      } finally {
        turns.lock.lock();
      }
    }
  }

  private @Nullable QueuedRequest takeWhileIdle() {
    @Nullable QueuedRequest next = turns.queue.take();
    if (next != null) {
      turn.begin(next);
    }
    turns.lock.lock();
    try {
      turns.free.idleNoLonger();
      if (next == null) {
        turns.free.signalAll(); // For the other threads it is over as well.
      } else {
        if (!turn.isOffline() && turns.paused.hasOffline()) {
          turn.overtakes();
        }
        turn.takeOrPause();
      }
    } finally {
      turns.lock.unlock();
    }
    return next;
  }

  /** Gives the turn to the paused run that is next, unless it is owed meanwhile. */
  private void handOn() {
    turns.lock.lock();
    try {
      turns.handOn(turn, _ -> true);
    } finally {
      turns.lock.unlock();
    }
  }
}
