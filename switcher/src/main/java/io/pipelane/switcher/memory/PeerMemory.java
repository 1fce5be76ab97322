package io.pipelane.switcher.memory;

import io.pipelane.lanes.PeerPages;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.HostWeights;
import io.pipelane.switcher.residency.Holdings;
import io.pipelane.switcher.residency.IdleMoves;
import io.pipelane.switcher.residency.RoomForOthers;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The memory of other devices as a tier between this device's and the host's. Weights are read out
 * of pages there, and pages that this device does not need hold what others have no room for.
 *
 * <p>Public methods are safe for any thread, the others are called with the memory daemon's lock.
 */
public final class PeerMemory {
  /*
   * Two daemons may ask each other at the same time, each with its own lock held. So nobody waits
   * for another daemon's lock. Who finds it taken reads from the host. Pages are given back by a
   * thread of its own, as copies may end with a lock held.
   *
   * A model's pages stay where they are while they are lent (Residency.readers). The model may be
   * mounted and dismounted meanwhile, since pages are read by their place in the device's memory.
   *
   * A lodger is a model that is here for other devices alone. Its pages are worth what they save
   * those devices, as own models' pages are worth what they save requests here
   * (Holdings.neededElsewhere). So either takes pages of the other that are worth less, and keeps
   * them as long as that is so. Under a policy that keeps models whole, lodgers take only pages
   * that are free, or of lodgers that are wanted no longer, and they are the first to go.
   */
  private final ReentrantLock lock;
  private final WeightMemory memory;
  private final Holdings holdings;
  private final IdleMoves idleMoves;
  private final HostWeights host;
  private final Runnable signal;
  private final LongSupplier nanoClock;
  private final List<Peer> peers = new CopyOnWriteArrayList<>();
  private volatile BooleanSupplier usable = () -> true;
  private List<Residency> wanted = List.of();

  private record Peer(PeerMemory memory, PeerPages pages) {}

  /**
   * Knows no other device yet.
   *
   * @param lock the daemon's
   * @param signal tells those that wait for memory, and the link's listener; without the lock
   */
  PeerMemory(
      ReentrantLock lock,
      WeightMemory memory,
      Holdings holdings,
      IdleMoves idleMoves,
      HostWeights host,
      Runnable signal,
      LongSupplier nanoClock) {
    this.lock = lock;
    this.memory = memory;
    this.holdings = holdings;
    this.idleMoves = idleMoves;
    this.host = host;
    this.signal = signal;
    this.nanoClock = nanoClock;
  }

  /**
   * Has weights come out of another device's pages where they lie there already.
   *
   * @param there as copies to this device read them
   */
  public void readFrom(PeerMemory other, PeerPages there) {
    peers.add(new Peer(other, there));
  }

  /** Lends nothing while somebody says that this device is lost; asked at once, on any thread. */
  public void lendWhile(BooleanSupplier isUsable) {
    usable = isUsable;
  }

  /** Whether {@link #readFrom} has named a device. */
  public boolean reads(PeerMemory other) {
    return peers.stream().anyMatch(peer -> peer.memory == other);
  }

  /**
   * A model of which weights are missing here.
   *
   * @param weightBytes of all of them: what a device lends is a model's beginning
   * @param waitedPerSecond what requests wait for them, in nanoseconds each second
   */
  public record Missed(ModelVersion version, long weightBytes, double waitedPerSecond) {
    /** What each byte that another device holds of it can save. */
    public double waitedPerByte() {
      return waitedPerSecond / weightBytes;
    }

    /** The same model, missed by another device as well. */
    public Missed and(Missed other) {
      return new Missed(version, weightBytes, waitedPerSecond + other.waitedPerSecond);
    }
  }

  /** Whether weights may come out of other devices' pages; for any thread. */
  boolean hasPeers() {
    return !peers.isEmpty();
  }

  /** Such models, those first of which a byte elsewhere saves most, seen over a while. */
  public List<Missed> missed(int most) {
    lock.lock();
    try {
      long now = nanoClock.getAsLong();
      return memory.residencies.values().stream()
          .filter(residency -> !residency.retired && !residency.holding.isOffline())
          .filter(residency -> residency.missingSlots() > 0)
          .filter(residency -> residency.holding.unit() == null) // Which comes and goes as one.
          .map(residency -> missed(residency, now))
          .filter(missed -> missed.waitedPerSecond > 0)
          .sorted(Comparator.comparingDouble(Missed::waitedPerByte).reversed())
          .limit(most)
          .toList();
    } finally {
      lock.unlock();
    }
  }

  private static Missed missed(Residency residency, long nowNanos) {
    double waited = residency.holding.usage().perSecond(nowNanos) * residency.holding.stallNanos();
    return new Missed(residency.model.version(), residency.model.plan().weightBytes(), waited);
  }

  /**
   * Has models be held here for other devices, page by page while the link is idle, as far as they
   * save those more than the pages save here; those of an earlier call are held no longer.
   *
   * @param missed by other devices, the most wanted one first; those that are not registered here
   *     are left out
   */
  public void lodge(List<Missed> missed) {
    lock.lock();
    try {
      if (missed.isEmpty() && wanted.isEmpty()) {
        return;
      }
      long now = nanoClock.getAsLong();
      Map<Residency, Double> waited = new LinkedHashMap<>();
      wanted.forEach(residency -> waited.put(residency, 0.0));
      wanted = new ArrayList<>();
      for (Missed one : missed) {
        @Nullable Residency residency = memory.residencies.get(one.version);
        if (residency != null) {
          wanted.add(residency);
          waited.put(residency, one.waitedPerSecond);
        }
      }
      waited.forEach((each, nanos) -> holdings.neededElsewhere(each.holding, nanos, now));
      memory.residencies.values().stream()
          .filter(residency -> residency.pages.isEmpty())
          .forEach(residency -> residency.lodged = waited.getOrDefault(residency, 0.0) > 0);
    } finally {
      lock.unlock();
    }
    if (!missed.isEmpty()) {
      signal.run();
    }
  }

  /** The models that {@link #lodge} has named last and that can be here for others. */
  public List<ModelVersion> lodgers() {
    lock.lock();
    try {
      return wanted.stream()
          .filter(residency -> residency.lodged && !residency.fetchFailed)
          .map(residency -> residency.model.version())
          .toList();
    } finally {
      lock.unlock();
    }
  }

  /** Models that are here as a whole for requests of this device, and can be read by others. */
  public List<ModelVersion> own() {
    lock.lock();
    try {
      return memory.residencies.values().stream()
          .filter(residency -> !residency.lodged && residency.slotsNeeded() > 0)
          .filter(Residency::isComplete)
          .map(residency -> residency.model.version())
          .toList();
    } finally {
      lock.unlock();
    }
  }

  /** What could be held here for others, whatever is held for them already. */
  public RoomForOthers room() {
    long idleBytes;
    double[] losses;
    lock.lock();
    try {
      idleBytes = memory.roomBytes() + memory.bytesHeldBy(residency -> residency.lodged);
      losses =
          holdings.savedByPages(holding -> !memory.owner(holding).lodged, nanoClock.getAsLong());
    } finally {
      lock.unlock();
    }
    int idlePages = Math.toIntExact(idleBytes / memory.pageBytes());
    return new RoomForOthers(memory.pageBytes(), idlePages, losses);
  }

  /**
   * Opens a model's weights where they are nearest, from what is here to an end; in the host where
   * the last copy has failed.
   */
  Origin open(Residency residency, long end) {
    @Nullable WeightSource peer = residency.fetchFailed ? null : nearest(residency);
    if (peer != null && peer.byteSize() >= end) {
      return new Origin(peer, null);
    }
    try {
      return new Origin(peer, host.open(residency.model));
    } catch (RuntimeException | Error e) {
      if (peer != null) {
        peer.close();
      }
      throw e;
    }
  }

  /** The other device's pages that reach farthest, if they reach farther than this one's. */
  private @Nullable WeightSource nearest(Residency residency) {
    WeightSource best = null;
    long reached = memory.residentBytes(residency);
    for (Peer peer : peers) {
      ModelVersion version = residency.model.version();
      WeightSource lent = peer.memory.tryLend(version, peer.pages, reached).orElse(null);
      if (lent != null) {
        if (best != null) {
          best.close();
        }
        best = lent;
        reached = lent.byteSize();
      }
    }
    return best;
  }

  /**
   * Lends what has arrived of a model to another device's copies; empty where that is no more than
   * it has, and where the lock is taken.
   */
  private Optional<WeightSource> tryLend(ModelVersion version, PeerPages reader, long moreThan) {
    if (!usable.getAsBoolean() || !lock.tryLock()) {
      return Optional.empty();
    }
    try {
      @Nullable Residency residency = memory.residencies.get(version);
      if (residency == null || residency.retired) {
        return Optional.empty();
      }
      memory.settle(residency);
      long bytes = Math.min(memory.residentBytes(residency), residency.model.plan().weightBytes());
      if (bytes <= moreThan || !residency.arrivals.isEmpty()) {
        return Optional.empty();
      }
      Runnable whenClosed =
          () -> Thread.ofVirtual().name("lent-pages").start(() -> giveBack(residency));
      WeightSource lent = reader.weights(List.copyOf(residency.pages), bytes, whenClosed);
      residency.readers++;
      return Optional.of(lent);
    } finally {
      lock.unlock();
    }
  }

  private void giveBack(Residency residency) {
    lock.lock();
    try {
      residency.readers--;
      memory.takeIfLeftBehind(residency);
    } finally {
      lock.unlock();
    }
    signal.run();
  }

  /**
   * A lodger that misses a page that is worth bringing in, if others {@link #mayGiveWayTo make
   * room}.
   *
   * @param spared give no pages for it
   */
  Optional<Residency> next(Set<Residency> spared) {
    long now = nanoClock.getAsLong();
    for (Residency residency : wanted) {
      residency.lodged |= residency.pages.isEmpty() && residency.leases == 0;
      if (residency.lodged && residency.canGain(now) && isWorthIt(residency, spared, now)) {
        return Optional.of(residency);
      }
    }
    return Optional.empty();
  }

  private boolean isWorthIt(Residency lodger, Set<Residency> spared, long nowNanos) {
    Predicate<Residency> may = mayGiveWayTo(lodger, spared);
    return idleMoves.isWorthIt(
        lodger.holding,
        memory.roomBytes() / memory.pageBytes(),
        holding -> may.test(memory.owner(holding)),
        nowNanos);
  }

  /** Who gives way to what is held for others. */
  Predicate<Residency> mayGiveWayTo(Residency lodger, Set<Residency> spared) {
    boolean pageByPage = holdings.policy().plansAhead();
    return other ->
        other != lodger
            && !spared.contains(other)
            && other.isEvictable()
            && (pageByPage
                ? other.lodged || other.holding.unit() == null
                : other.lodged && !wanted.contains(other));
  }

  /** A model is going. */
  void forget(Residency residency) {
    wanted = wanted.stream().filter(other -> other != residency).toList();
  }
}
