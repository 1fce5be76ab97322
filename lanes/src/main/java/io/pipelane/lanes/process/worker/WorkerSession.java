package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.MappedRange;
import io.pipelane.lanes.PersistentMemory.Account;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.modelstore.Plan;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

/**
 * A session of this process, the addresses that its weights lie at, and what it is charged to.
 *
 * @param builtBytes what its constants took when it was built
 * @param hasRun whether a run has ended
 * @param use read by its runs, written while it is shrunk: a run may come to a worker that has just
 *     taken over
 */
record WorkerSession(
    ModelSession session,
    Plan plan,
    MappedRange range,
    ExportedSlots slots,
    Account constants,
    long builtBytes,
    AtomicBoolean hasRun,
    ReadWriteLock use) {
  private static final long TICK_MILLIS = 20;

  /**
   * Changes it once no run is under way in it.
   *
   * @param whileWaiting called again and again until then
   */
  void betweenRuns(Runnable change, Runnable whileWaiting) {
    Lock unused = use.writeLock();
    while (!tryLock(unused)) {
      whileWaiting.run();
    }
    try {
      change.run();
    } finally {
      unused.unlock();
    }
  }

  private static boolean tryLock(Lock lock) {
    try {
      return lock.tryLock(TICK_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) { // Nobody has a reason to interrupt this thread.
      return false;
    }
  }

  /** Device memory that it holds beside the constants that it was built with. */
  long heldBytes() {
    return session.frameworkBytes() + constants.usedBytes() - builtBytes;
  }
}
