package io.pipelane.switcher.memory;

import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.memory.account.Demand;
import io.pipelane.switcher.residency.Holding;
import io.pipelane.switcher.residency.Holdings;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The worth of models' weights on a device: how often each model is asked for, and how long runs
 * wait for what is missing. Changes nothing. Safe for any thread.
 */
public final class Appraisal {
  /*
   * Stalls are asked of every request, by threads that hold locks which come before the daemon's.
   * So models' holdings are published in a map of its own, which is written under the daemon's
   * lock, and what a holding says last is read without any. All else is read under the daemon's
   * lock.
   */
  private final ReentrantLock lock;
  private final WeightMemory memory;
  private final Holdings holdings;
  private final PeerMemory peers;
  private final OfflineQuota quota;
  private final long pageBytes;
  private final LongSupplier nanoClock;
  private final Map<ModelVersion, Holding> published = new ConcurrentHashMap<>();

  /**
   * Knows no model yet.
   *
   * @param lock the daemon's
   */
  Appraisal(
      ReentrantLock lock,
      WeightMemory memory,
      Holdings holdings,
      PeerMemory peers,
      OfflineQuota quota,
      long pageBytes,
      LongSupplier nanoClock) {
    this.lock = lock;
    this.memory = memory;
    this.holdings = holdings;
    this.peers = peers;
    this.quota = quota;
    this.pageBytes = pageBytes;
    this.nanoClock = nanoClock;
  }

  /** A model is registered; under the daemon's lock. */
  void publish(ModelVersion version, Holding holding) {
    published.put(version, holding);
  }

  /** It is no longer; under the daemon's lock. */
  void forget(ModelVersion version) {
    published.remove(version);
  }

  /**
   * What a run of a model would lose by missing weights if it began now, as far as that is known; 0
   * for a model that is not registered. At once.
   */
  public long stallNanos(ModelVersion version) {
    @Nullable Holding holding = published.get(version);
    return holding == null ? 0 : holding.stallNanos();
  }

  /**
   * What a run of a model will lose by missing weights whatever happens until it begins, unless
   * they come sooner than their bytes can over the host's link: 0 where they may, and while nothing
   * is known of the link or the run. At once.
   */
  public long leastStallNanos(ModelVersion version) {
    @Nullable Holding holding = published.get(version);
    return holding == null || peers.hasPeers() ? 0 : holding.leastStallNanos();
  }

  /**
   * What a run of a model would lose by missing weights if none were there, as far as that is
   * known; 0 for a model that is not registered. At once.
   */
  public long wholeStallNanos(ModelVersion version) {
    @Nullable Holding holding = published.get(version);
    return holding == null ? 0 : holding.wholeStallNanos();
  }

  /**
   * What models would wait longer, in nanoseconds each second, whose pages had to give way for all
   * that is missing of a model; 0 where there is room, or it is not registered.
   *
   * @param perSecond how often the caller knows online work to ask for a model here, which counts
   *     where it is more than what the residency policy knows, and alone where offline work has the
   *     model; called under this object's lock
   */
  public double displacedNanosPerSecond(
      ModelVersion version, ToDoubleFunction<ModelVersion> perSecond) {
    lock.lock();
    try {
      @Nullable Residency residency = memory.residencies.get(version);
      if (residency == null) {
        return 0;
      }
      long displaced = memory.missingBytes(residency) - memory.roomBytes();
      long now = nanoClock.getAsLong();
      return holdings.lossPerSecond(
          Math.ceilDiv(displaced, pageBytes),
          residency.holding,
          holding ->
              Math.max(
                  holding.isOffline() ? 0 : holding.usage().perSecond(now),
                  perSecond.applyAsDouble(memory.owner(holding).model.version())));
    } finally {
      lock.unlock();
    }
  }

  /** Whether all of a model's pages are here, none on its way; not if it is not registered. */
  public boolean isComplete(ModelVersion version) {
    lock.lock();
    try {
      @Nullable Residency residency = memory.residencies.get(version);
      return residency != null
          && !residency.retired
          && residency.isComplete()
          && !residency.isArriving();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Whether offline work may hold a model here, as long as that is used as it is now; not if it is
   * not registered.
   */
  public boolean fitsOffline(ModelVersion version) {
    lock.lock();
    try {
      @Nullable Residency residency = memory.residencies.get(version);
      return residency != null && quota.fits(residency);
    } finally {
      lock.unlock();
    }
  }

  /**
   * How often each model was asked for, in a count that fades by the half-life of {@link
   * ResidencyConfig}: its natural logarithm now, which stays exact however long ago that was.
   * Models that nobody has asked for are left out.
   */
  public Map<ModelVersion, Double> uses() {
    Map<ModelVersion, Double> uses = new HashMap<>();
    lock.lock();
    try {
      long now = nanoClock.getAsLong();
      memory.residencies.forEach(
          (version, residency) -> {
            double logarithm = residency.holding.usage().logarithmAt(now);
            if (Double.isFinite(logarithm)) {
              uses.put(version, logarithm);
            }
          });
    } finally {
      lock.unlock();
    }
    return uses;
  }

  /** How much each model is asked for of which something is missing here, if it is at all. */
  public List<Demand> demands() {
    lock.lock();
    try {
      long now = nanoClock.getAsLong();
      return memory.residencies.values().stream()
          .filter(residency -> !residency.retired && residency.missingSlots() > 0)
          .map(each -> new Demand(each.model, each.holding.usage().perSecond(now)))
          .filter(demand -> demand.perSecond() > 0)
          .toList();
    } finally {
      lock.unlock();
    }
  }
}
