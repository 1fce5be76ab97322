package io.pipelane.switcher.schedule.turn;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * The number of free turns, and of threads without a run that are about to use them. Idle threads
 * wait for a request each, spare ones wait here. Guarded by the turns' lock.
 */
final class FreeTurns {
  private final Condition freed;
  private int free; // Below none where fewer are to compute than do.
  private int idle;
  private int spare;

  FreeTurns(ReentrantLock lock, int count) {
    this.freed = lock.newCondition();
    this.free = count;
  }

  /** There are more, or fewer, of which some may be owed then. */
  void add(int more) {
    free += more;
  }

  /** One is somebody's now. */
  void take() {
    free--;
  }

  /** One is nobody's any more, or no longer owed. */
  void giveBack() {
    free++;
  }

  /** Whether there is one. */
  boolean isAny() {
    return free > 0;
  }

  /** Whether some are had that are too many. */
  boolean areOwed() {
    return free < 0;
  }

  /** Whether there is one for which no spare thread is there. */
  boolean areMoreThanSpare() {
    return free > spare;
  }

  /** Whether spare threads wait, as all are had. */
  boolean areAwaited() {
    return free <= 0 && spare > 0;
  }

  /** Makes a thread idle if there is one that no other idle one will have. */
  boolean letIdle() {
    boolean may = free > idle;
    idle += may ? 1 : 0;
    return may;
  }

  /** A thread is idle no longer. */
  void idleNoLonger() {
    idle--;
  }

  /**
   * Waits as a spare thread until there is one which is not about to be had by an idle thread, or
   * for which there is a run.
   */
  void await(BooleanSupplier hasRun) {
    spare++;
    while (free <= 0 || (free <= idle && !hasRun.getAsBoolean())) {
      freed.awaitUninterruptibly();
    }
    spare--;
  }

  /** One has become free, or the queue's request goes before a run: a spare thread sees to it. */
  void signal() {
    freed.signal();
  }

  /** All spare threads look again. */
  void signalAll() {
    freed.signalAll();
  }

  /** Threads that wait for one. */
  int spare() {
    return spare;
  }
}
