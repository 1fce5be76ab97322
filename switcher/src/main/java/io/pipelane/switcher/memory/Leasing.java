package io.pipelane.switcher.memory;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.residency.Holdings;
import java.lang.System.Logger.Level;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Gives leases out and takes them back. They are opened under the memory daemon's lock; whoever
 * closes one takes that, on any thread.
 */
final class Leasing {
  private static final System.Logger LOG = System.getLogger(Leasing.class.getName());

  /*
   * The only writer of how many leases a model has, and of how many runs the link sees. Each lease
   * is counted once from when it is opened until it is closed, whether its run made way, was stuck
   * or came to its end.
   *
   * With a model's last lease goes what could not go while somebody ran it: what a failed transfer
   * has left, and models that are to leave. To give pages back takes a while, so a thread that may
   * not wait has that done by another one.
   */
  private final ReentrantLock lock;
  private final Condition changed;
  private final WeightMemory memory;
  private final Holdings holdings;
  private final Stalls stalls;
  private final OpenLeases openLeases;
  private final StuckLeases stuck;
  private final IdleLink idleLink;
  private final LongSupplier nanoClock;

  /**
   * No lease is open.
   *
   * @param lock the daemon's
   * @param changed of that, signalled when anything may have changed for those that wait
   * @param openLeases of runs that may make way
   * @param stuck those that nobody waits for
   */
  Leasing(
      ReentrantLock lock,
      Condition changed,
      WeightMemory memory,
      Holdings holdings,
      Stalls stalls,
      OpenLeases openLeases,
      StuckLeases stuck,
      IdleLink idleLink,
      LongSupplier nanoClock) {
    this.lock = lock;
    this.changed = changed;
    this.memory = memory;
    this.holdings = holdings;
    this.stalls = stalls;
    this.openLeases = openLeases;
    this.stuck = stuck;
    this.idleLink = idleLink;
    this.nanoClock = nanoClock;
  }

  /** A lease of a run that others may have make way; under the lock. */
  Lease open(Residency residency, Priority priority, RunControl run) {
    Lease lease = open(residency, priority, run, this::release);
    openLeases.add(lease);
    return lease;
  }

  /** A lease that makes way to nobody; under the lock. */
  Lease open(Residency residency) {
    return open(residency, Priority.ONLINE, RunControl.NONE, this::release);
  }

  /**
   * The same for a thread that waits for nothing when it closes the lease; under the lock.
   *
   * @param beside releases it, where that has to be waited for
   */
  Lease openAtOnce(Residency residency, Executor beside) {
    return open(residency, Priority.ONLINE, RunControl.NONE, ended -> releaseAtOnce(ended, beside));
  }

  private Lease open(
      Residency residency, Priority priority, RunControl run, Consumer<Lease> release) {
    residency.leases++;
    residency.lodged = false;
    idleLink.runBegins();
    return new Lease(this, residency, priority, run, release, nanoClock);
  }

  /**
   * Waits for nothing, and gives no page back: where there is more to do, somebody else does it.
   */
  private void releaseAtOnce(Lease lease, Executor beside) {
    if (!lock.tryLock()) {
      beside.execute(() -> release(lease));
      return;
    }
    try {
      if (lease.residency().leaves) {
        beside.execute(() -> release(lease));
      } else {
        release(lease);
      }
    } finally {
      lock.unlock();
    }
  }

  private void release(Lease lease) {
    Residency residency = lease.residency();
    boolean linkIsFree;
    lock.lock();
    try {
      openLeases.remove(lease);
      stuck.remove(lease);
      residency.leases--;
      linkIsFree = idleLink.runEnds(residency.leases == 0);
      changed.signalAll();
      takeWhatGoes(residency);
    } finally {
      lock.unlock();
    }
    if (linkIsFree) {
      idleLink.tell();
    }
  }

  /**
   * Takes what a run's end has left to be taken. A lost device may fail in that: whoever has run
   * there, and may hold something elsewhere, has nothing to do with it.
   */
  private void takeWhatGoes(Residency residency) {
    try {
      memory.settle(residency);
      stalls.refresh(residency, holdings);
      if (!holdings.policy().keepsAfterRuns() && residency.isEvictable()) {
        memory.takeBack(residency, residency.pages.size());
      }
      memory.takeIfLeftBehind(residency);
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "pages of " + residency.model.version() + " stay for now", e);
    }
  }

  /** A lease's run does not end: it makes way to nobody, and nobody waits for it. */
  void stuck(Lease lease, String reason) {
    lock.lock();
    try {
      openLeases.remove(lease);
      stuck.add(lease, reason);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
