package io.pipelane.switcher.schedule.turn;

import io.pipelane.switcher.sharing.gate.OfflineGate;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.concurrent.locks.Condition;

/**
 * The latest pause of a {@link Turn}'s run: since when it has waited for a turn to go on with, and
 * what it still needed then. Guarded by the turns' lock, which is free while the run's thread waits
 * here.
 */
final class Pause {
  private final Turns turns;
  private final Turn turn;
  private final Condition given;
  private long beganNanos;
  private long remainingNanos;
  private final Set<RunProgress> ahead = Collections.newSetFromMap(new IdentityHashMap<>());

  /** None yet. */
  Pause(Turns turns, Turn turn) {
    this.turns = turns;
    this.turn = turn;
    this.given = turns.lock.newCondition();
  }

  /** What the paused run still needs. */
  long remainingNanos() {
    return remainingNanos;
  }

  /** What the paused run still needs, and its job behind it. */
  long remainingWithJobNanos() {
    return remainingNanos + turn.progress().request().polled().behindNanos();
  }

  /** The run is about to wait for another one, which it goes before no more. */
  void goesBehind(RunProgress other) {
    ahead.add(other);
  }

  /** Whether it does so still: that has neither ended nor waited since. */
  boolean isBehind(RunProgress other) {
    return ahead.contains(other);
  }

  /** Another run waits for something itself. */
  void noLongerBehind(RunProgress other) {
    ahead.remove(other);
  }

  /** Until when the run has computed, which may not be paused. */
  long computedUntilNanos() {
    return turns.paused.contains(turn) ? beganNanos : turns.nanoClock.getAsLong();
  }

  /**
   * Waits for a turn, or until nobody wants the run any more.
   *
   * @param mayResume whether an offline run may take a turn that is free already; if not, that is
   *     somebody else's, who was told of it
   */
  void await(boolean mayResume) {
    begin();
    boolean looks = turn.isOffline() && mayResume;
    while (!turn.isHeld() && !turn.progress().request().isUnwanted()) {
      long wait = turn.isOffline() ? turn.gateWaitNanos() : 0;
      if (looks && wait == 0 && turns.free.isAny()) {
        turn.resume();
      } else if (wait == 0 || wait == OfflineGate.UNTIL_TOLD) {
        given.awaitUninterruptibly();
      } else {
        try {
          long _ = given.awaitNanos(wait);
        } catch (InterruptedException e) {
          // Nobody has a reason to interrupt a lane's thread; the run goes on.
        }
      }
      looks = turn.isOffline();
    }
    if (!turn.isHeld()) {
      end(); // The thread runs nothing more, and needs no turn for that.
    }
  }

  /** The run waits from now on. */
  void begin() {
    beganNanos = turns.nanoClock.getAsLong();
    remainingNanos = turn.progress().remainingNanos(beganNanos);
    turns.paused.add(turn);
    turn.progress().pauses(beganNanos);
  }

  /** It waits no longer. */
  void end() {
    turns.paused.remove(turn);
    ahead.clear();
    long waited = turns.nanoClock.getAsLong() - beganNanos;
    turn.progress().waited(waited);
    if (turn.isOffline()) {
      turns.gate.runs().held(waited);
    }
  }

  /** Has the run's thread look whether it may go on, or need not. */
  void signal() {
    given.signal();
  }
}
