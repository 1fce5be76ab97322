package io.pipelane.switcher.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Releases;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.residency.Holdings;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The way of models off a device for good. Safe for any platform thread. */
final class Leaving {
  /*
   * A model is in the tables until the device has taken back all that it had of it: its pages, then
   * its place in its structure. Where the device fails in that, the model stays there, retired and
   * worth nothing, and leaves later. Each step may be made again.
   */
  private final ReentrantLock lock;
  private final Condition changed;
  private final WeightMemory memory;
  private final Holdings holdings;
  private final Appraisal appraisal;
  private final Structures structures;
  private final FetchAhead fetchAhead;
  private final Evictions evictions;
  private final LongSupplier nanoClock;

  /**
   * Nothing leaves yet.
   *
   * @param lock the daemon's
   * @param changed of that, signalled when anything may have changed for those that wait
   */
  Leaving(
      ReentrantLock lock,
      Condition changed,
      WeightMemory memory,
      Holdings holdings,
      Appraisal appraisal,
      Structures structures,
      FetchAhead fetchAhead,
      Evictions evictions,
      LongSupplier nanoClock) {
    this.lock = lock;
    this.changed = changed;
    this.memory = memory;
    this.holdings = holdings;
    this.appraisal = appraisal;
    this.structures = structures;
    this.fetchAhead = fetchAhead;
    this.evictions = evictions;
    this.nanoClock = nanoClock;
  }

  /**
   * Has a model leave that is in service, or could not leave when it was to; waits for the runs
   * that hold a lease. The caller does not hold the lock.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when there is none; what the device throws,
   *     and the model stays then
   */
  void leave(ModelVersion version) {
    takeOut(version, memory::inService);
  }

  /** Has a model leave that could not when it was to, if there is one; otherwise the same. */
  void leaveIfStayed(ModelVersion version) {
    takeOut(version, _ -> null);
  }

  /** Has every model leave; one that cannot keeps no other. */
  void leaveAll() {
    try (Releases all = new Releases()) {
      registered().forEach(version -> all.add(version, this::leave));
    }
  }

  private List<ModelVersion> registered() {
    lock.lock();
    try {
      return List.copyOf(memory.residencies.keySet());
    } finally {
      lock.unlock();
    }
  }

  private void takeOut(
      ModelVersion version, Function<ModelVersion, ? extends @Nullable Residency> otherwise) {
    @Nullable Residency residency;
    lock.lock();
    try {
      @Nullable Residency stayed = stayed(version);
      residency = stayed == null ? otherwise.apply(version) : stayed;
      if (residency == null) {
        return;
      }
      takeOut(residency);
    } finally {
      lock.unlock();
    }
    residency.inPlace.close(); // Which takes a while where memory was pinned.
  }

  private @Nullable Residency stayed(ModelVersion version) {
    @Nullable Residency residency = memory.residencies.get(version);
    return residency != null && residency.stays ? residency : null;
  }

  private void takeOut(Residency residency) {
    residency.retired = true;
    residency.stays = false;
    changed.signalAll(); // Those that wait for it are refused, whatever it waits for itself.
    boolean left = false;
    try {
      evictions.takeAll(residency);
      structures.leave(residency);
      left = true;
    } finally {
      if (!left) {
        residency.stays = true;
        holdings.unused(residency.holding, nanoClock.getAsLong());
      }
    }
    memory.remove(residency);
    appraisal.forget(residency.model.version());
    fetchAhead.forget(residency);
    changed.signalAll();
  }
}
