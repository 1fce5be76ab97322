package io.pipelane.switcher.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.sharing.OfflineMemory;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The taking of weights off the device because somebody says so, and not as others need the room.
 * Safe for any thread.
 */
public final class Evictions implements OfflineMemory {
  private final ReentrantLock lock;
  private final Condition changed;
  private final WeightMemory memory;
  private final FetchAhead fetchAhead;
  private final OpenLeases openLeases;

  /**
   * Takes nothing yet.
   *
   * @param lock the daemon's
   * @param changed signalled, of that lock, when anything may have changed for those that wait
   */
  Evictions(
      ReentrantLock lock,
      Condition changed,
      WeightMemory memory,
      FetchAhead fetchAhead,
      OpenLeases openLeases) {
    this.lock = lock;
    this.changed = changed;
    this.memory = memory;
    this.fetchAhead = fetchAhead;
    this.openLeases = openLeases;
  }

  /**
   * Takes a model's weights off the device but for the first; it stays registered. Waits for the
   * runs that hold a lease.
   *
   * @param keptBytes what may stay, in whole pages
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void evict(ModelVersion version, long keptBytes) {
    evict(version, keptBytes, () -> {});
  }

  /**
   * The same for a caller that others may wait for.
   *
   * @param beforeWaiting called, perhaps several times, before it waits for runs; under the
   *     daemon's lock
   */
  public void evict(ModelVersion version, long keptBytes, Runnable beforeWaiting) {
    lock.lock();
    try {
      Residency residency = memory.inService(version);
      emptyOut(residency, keptBytes, beforeWaiting);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Takes all of a model that leaves, under the daemon's lock, which is given up meanwhile. */
  void takeAll(Residency residency) {
    emptyOut(residency, 0, () -> {});
  }

  /** Under the daemon's lock, which is given up meanwhile. */
  private void emptyOut(Residency residency, long keptBytes, Runnable beforeWaiting) {
    while (residency.leases > 0 || residency.isBeingCopied()) {
      if (residency.leases > 0) { // Of runs that may have begun while copies were waited for.
        beforeWaiting.run();
      }
      changed.awaitUninterruptibly();
    }
    memory.settle(residency); // What has failed to arrive is not kept.
    int kept = (int) Math.min(residency.pages.size(), keptBytes / memory.pageBytes());
    memory.takeBack(residency, residency.pages.size() - kept);
    memory.tables.leave(residency);
    while (residency.inPlace.copy().isArriving()) {
      changed.awaitUninterruptibly();
    }
  }

  /**
   * Takes a model's weights off the device that nobody has there any more, and what is wished of
   * them with them: now, or when its last run and all copies of it have ended, unless it is asked
   * for again before. Waits for nothing.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void evictOnceIdle(ModelVersion version) {
    lock.lock();
    try {
      Residency residency = memory.inService(version);
      fetchAhead.forgetWish(residency);
      residency.leaves = true;
      memory.settle(residency);
      memory.takeIfLeftBehind(residency);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public long takeBackOffline() {
    lock.lock();
    try {
      long taken = memory.takeBackOffline();
      changed.signalAll();
      return taken;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void endOfflineRuns() {
    lock.lock();
    try {
      openLeases.makeOfflineWay();
    } finally {
      lock.unlock();
    }
  }
}
