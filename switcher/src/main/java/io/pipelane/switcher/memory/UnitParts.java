package io.pipelane.switcher.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.residency.Holdings;
import io.pipelane.switcher.residency.Unit;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The parts that a device has of models over several devices: models that are there together or not
 * at all (PipeSwitch §4.5). Safe for any thread.
 */
public final class UnitParts {
  /*
   * Who needs a unit takes its parts device after device, in one order for all, and each device's
   * models at once. So nobody who holds something waits for somebody who waits for that. Whoever
   * holds all of the unit must get done without waiting for memory, or for threads that wait for
   * memory. Therefore runs on a part share what is held, past the lines (share), on threads of
   * their own (HeldRuns).
   *
   * A unit of which a page was taken is told to go (takeOut) by a thread that holds no lock, part
   * by part. A part that is in use goes when its last run has ended.
   */
  private final ReentrantLock lock;
  private final Condition changed;
  private final Leasing leasing;
  private final WeightMemory memory;
  private final Holdings holdings;
  private final FetchOnDemand fetchOnDemand;
  private final LongSupplier nanoClock;

  /**
   * No parts yet.
   *
   * @param lock the daemon's
   * @param changed of that, signalled when anything may have changed for those that wait
   */
  UnitParts(
      ReentrantLock lock,
      Condition changed,
      Leasing leasing,
      WeightMemory memory,
      Holdings holdings,
      FetchOnDemand fetchOnDemand,
      LongSupplier nanoClock) {
    this.lock = lock;
    this.changed = changed;
    this.leasing = leasing;
    this.memory = memory;
    this.holdings = holdings;
    this.fetchOnDemand = fetchOnDemand;
    this.nanoClock = nanoClock;
  }

  /**
   * Says what this device has of a unit, so that it is worth what the whole is; returns at once.
   *
   * @param part without duplicates
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when they can never be here
   *     together, {@link Status#INVALID_ARGUMENT} when some take turns, {@link Status#NOT_FOUND}
   *     when one is not registered or about to go
   */
  public void join(List<ModelVersion> part, Unit unit) {
    lock.lock();
    try {
      List<Residency> together = part.stream().map(memory::inService).toList();
      requireRoom(together);
      together.stream()
          .filter(residency -> residency.holding.unit() != unit)
          .forEach(residency -> holdings.join(residency.holding, unit));
    } finally {
      lock.unlock();
    }
  }

  /** Whether models could be here together, were nothing else here; returns at once. */
  public boolean couldHold(List<ModelVersion> part) {
    lock.lock();
    try {
      requireRoom(part.stream().map(memory::inService).toList());
      return true;
    } catch (StatusException e) {
      return false;
    } finally {
      lock.unlock();
    }
  }

  private void requireRoom(List<Residency> together) {
    memory.capacity.requireFit(together);
    long structures = together.stream().map(residency -> residency.structure).distinct().count();
    if (structures < together.size()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "of models %s some are variants of one graph, which take turns on a device; put them on different ones"
              .formatted(together.stream().map(each -> each.model.version()).toList()));
    }
  }

  /**
   * Sees to it that all of a unit's models that this device has are there together, or on their
   * way; blocks while others hold the room for them.
   *
   * @param part as {@link #join} was told
   * @param beforeWaiting called, perhaps several times, before the caller waits; under the daemon's
   *     lock
   * @return what holds them, in the same order; to be closed by any thread
   * @throws StatusException {@link Status#NOT_FOUND} when one is not registered or about to go;
   *     what reading weights throws. None is held then; {@link #takeOut} has leave what has come
   */
  public List<Lease> acquire(List<ModelVersion> part, Runnable beforeWaiting) {
    lock.lock();
    try {
      List<Residency> together = part.stream().map(memory::inService).toList();
      long now = nanoClock.getAsLong();
      together.forEach(residency -> holdings.used(residency.holding, now));
      if (!together.stream().allMatch(this::isThere)) {
        memory.counters.waits++;
        fetchOnDemand.makeReady(together, beforeWaiting);
      }
      together.forEach(residency -> residency.leaves = false);
      return together.stream().map(leasing::open).toList();
    } finally {
      lock.unlock();
    }
  }

  private boolean isThere(Residency residency) {
    return residency.isMounted()
        && residency.isComplete()
        && !fetchOnDemand.isAwaitedBefore(residency, Priority.ONLINE);
  }

  /** Holds once more what is held; waits for nobody, as others may wait for who holds it. */
  public Lease share(Lease held) {
    lock.lock();
    try {
      return leasing.open(held.residency());
    } finally {
      lock.unlock();
    }
  }

  /**
   * Takes a model off the device that is of no unit, or of one that is not whole: now, or when its
   * last run has ended, unless it is asked for again before. Blocks while copies of it are under
   * way; does nothing for one that is not in service.
   */
  public void takeOut(ModelVersion version) {
    lock.lock();
    try {
      @Nullable Residency residency = memory.residencies.get(version);
      if (residency == null || residency.retired) {
        return;
      }
      residency.leaves = true;
      while (residency.leases == 0 && residency.isBeingCopied()) {
        changed.awaitUninterruptibly();
      }
      memory.settle(residency);
      memory.takeIfLeftBehind(residency);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
