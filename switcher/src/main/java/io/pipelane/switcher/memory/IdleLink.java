package io.pipelane.switcher.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.residency.Holdings;
import io.pipelane.switcher.residency.IdleMoves;
import io.pipelane.switcher.residency.Pacing;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * The link to the host while nothing that runs wait for is on its way: brings in, page by page,
 * what will be wanted. Safe for any thread.
 */
public final class IdleLink {
  /*
   * The daemon's lock guards all but the listener. The listener is told by whoever has freed the
   * link. That may be at the end of a copy, with the lock held, so the listener only takes note.
   * Who fetches asks for one page and comes again when told: so whatever has become more urgent
   * meanwhile goes first.
   *
   * Runs are counted here, as what is sent beside them is paced: a lease that is opened or closed
   * says so.
   */
  private final ReentrantLock lock;
  private final WeightMemory memory;
  private final Holdings holdings;
  private final FetchAhead fetchAhead;
  private final FetchOnDemand fetchOnDemand;
  private final Pacing pacing;
  private final LongSupplier nanoClock;

  /** Leases that are open. */
  private int runs;

  /** Whether who fetches was to come again once nobody waits for memory. */
  private boolean turnedAway;

  private volatile Runnable listener = () -> {};

  /**
   * A link that nobody listens to.
   *
   * @param lock the daemon's
   */
  IdleLink(
      ReentrantLock lock,
      WeightMemory memory,
      Holdings holdings,
      FetchAhead fetchAhead,
      FetchOnDemand fetchOnDemand,
      Pacing pacing,
      LongSupplier nanoClock) {
    this.lock = lock;
    this.memory = memory;
    this.holdings = holdings;
    this.fetchAhead = fetchAhead;
    this.fetchOnDemand = fetchOnDemand;
    this.pacing = pacing;
    this.nanoClock = nanoClock;
  }

  /** Has somebody told, on any thread, when copies have ended or wishes have come. */
  public void onFree(Runnable told) {
    listener = told;
  }

  /** There may be something to fetch, and a link for it. */
  void tell() {
    listener.run();
  }

  /** A lease has been opened; under the daemon's lock. */
  void runBegins() {
    runs++;
  }

  /**
   * A lease has been closed; under the daemon's lock.
   *
   * @param lastOfModel whether what it held may give way now
   * @return whether the listener is to be told: it was the last of all, and something was held
   *     back, or who fetches was turned away or found no room, and nobody waits any more
   */
  boolean runEnds(boolean lastOfModel) {
    runs--;
    boolean isToCome = turnedAway || (fetchAhead.lacksRoom() && lastOfModel);
    return (runs == 0 && pacing.hasHeldBack())
        || (isToCome && !fetchOnDemand.isAwaited(Priority.ONLINE));
  }

  /**
   * Whether who fetches is to come again, as others went before or there was no room; under the
   * daemon's lock.
   */
  boolean hasTurnedAway() {
    return turnedAway || fetchAhead.lacksRoom();
  }

  /** Leases that are open; under the daemon's lock. */
  int runs() {
    return runs;
  }

  /**
   * Notes that a model will be asked soon, as if it had been asked; returns at once. It is brought
   * in before the deadline if {@link #fetchAhead} can, behind those that are more urgent.
   *
   * @param within how soon; empty for when there is time
   * @param priority of those who will ask
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void wish(ModelVersion version, Optional<Duration> within, Priority priority) {
    lock.lock();
    try {
      Residency residency = memory.inService(version);
      long now = nanoClock.getAsLong();
      holdings.used(residency.holding, priority, now);
      residency.lodged = false;
      if (residency.holding.unit() == null) {
        residency.leaves = false;
      }
      fetchAhead.wish(residency, within, now);
    } finally {
      lock.unlock();
    }
    tell();
  }

  /**
   * Has what was wished with {@link #wish time} come though some of it has given way since, or
   * could not be had; returns at once. It is wished no earlier or more often for that.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void keepWishing(ModelVersion version) {
    boolean renewed;
    lock.lock();
    try {
      renewed = fetchAhead.keepWishing(memory.inService(version), nanoClock.getAsLong());
    } finally {
      lock.unlock();
    }
    if (renewed) {
      tell();
    }
  }

  /**
   * Sends for one page of what will be wanted, when nothing that runs wait for is on its way.
   *
   * @param queued models of requests that wait, the first to run first
   * @return whether a page is on its way; the listener is told when it has come
   */
  public boolean fetchAhead(List<ModelVersion> queued) {
    Optional<IdleMoves.Planning> plan = planDue();
    plan.ifPresent(IdleMoves.Planning::solve); // Takes its time, and needs no lock.
    lock.lock();
    try {
      pacing.begin();
      long now = nanoClock.getAsLong();
      plan.ifPresent(fetchAhead::follow);
      turnedAway = fetchOnDemand.isAwaited(Priority.ONLINE);
      if (turnedAway) {
        return false; // Whoever waits for memory goes first.
      }
      List<Residency> upcoming =
          queued.stream().map(memory.residencies::get).filter(Objects::nonNull).toList();
      boolean offlineWaits = fetchOnDemand.isAwaited(Priority.OFFLINE);
      return fetchAhead.next(upcoming, runs, offlineWaits, now);
    } finally {
      lock.unlock();
    }
  }

  private Optional<IdleMoves.Planning> planDue() {
    lock.lock();
    try {
      return fetchAhead.planDue(nanoClock.getAsLong());
    } finally {
      lock.unlock();
    }
  }

  /**
   * How long what {@link #fetchAhead} has held back for the sake of runs will be; 0 when nothing
   * was. The listener is told when the runs have ended.
   */
  public long restNanos() {
    lock.lock();
    try {
      return pacing.restNanos(nanoClock.getAsLong());
    } finally {
      lock.unlock();
    }
  }
}
