package io.pipelane.switcher.memory;

import io.pipelane.lanes.PeerPages;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.HostWeights;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The memory of other devices as a tier between this device's and the host's: weights are read out
 * of pages there, and pages that this device does not need hold what others have no room for.
 *
 * <p>Public methods are safe for any thread, the others are called with the memory daemon's lock.
 */
public final class PeerMemory {
  /*
   * Two daemons may ask each other at the same time, each with its own lock held. So nobody waits
   * for another daemon's lock: who finds it taken reads from the host, and pages are given back by a
   * thread of its own, as copies may end with a lock held.
   *
   * A model's pages stay where they are while they are lent (Residency.readers); it may be mounted
   * and dismounted, since they are read by their place in the device's memory.
   *
   * A lodger is a model that is here for other devices alone. Nobody uses it here, so its pages are
   * the first to give way to whatever does; a lodger that is wanted takes pages that are free, or
   * those of one that is wanted no longer.
   */
  private final ReentrantLock lock;
  private final WeightMemory memory;
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
      HostWeights host,
      Runnable signal,
      LongSupplier nanoClock) {
    this.lock = lock;
    this.memory = memory;
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

  /** A model of which weights are missing here, and how large all of them are. */
  public record Missed(ModelVersion version, long weightBytes) {}

  /** Whether weights may come out of other devices' pages; for any thread. */
  boolean hasPeers() {
    return !peers.isEmpty();
  }

  /** Such models, those first whose requests lose most time by it, seen over a while. */
  public List<Missed> missed(int most) {
    lock.lock();
    try {
      long now = nanoClock.getAsLong();
      return memory.residencies.values().stream()
          .filter(residency -> !residency.holding.isOffline() && residency.missingSlots() > 0)
          .filter(residency -> residency.holding.unit() == null) // Which comes and goes as one.
          .filter(residency -> waitedPerSecond(residency, now) > 0)
          .sorted(Comparator.comparingDouble(residency -> -waitedPerSecond(residency, now)))
          .limit(most)
          .map(missed -> new Missed(missed.model.version(), missed.model.plan().weightBytes()))
          .toList();
    } finally {
      lock.unlock();
    }
  }

  private static double waitedPerSecond(Residency residency, long nowNanos) {
    return residency.holding.usage().perSecond(nowNanos) * residency.holding.stallNanos();
  }

  /**
   * Has pages that nobody needs here hold models for other devices, as far as they go and while the
   * link is idle; those of an earlier call give way to them.
   *
   * @param versions the most wanted one first; those that are not registered are left out
   */
  public void lodge(List<ModelVersion> versions) {
    lock.lock();
    try {
      wanted = versions.stream().map(memory.residencies::get).filter(Objects::nonNull).toList();
      memory.residencies.values().stream()
          .filter(residency -> residency.pages.isEmpty())
          .forEach(residency -> residency.lodged = wanted.contains(residency));
    } finally {
      lock.unlock();
    }
    signal.run();
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

  /** Bytes that nobody needs here: free ones, and those that hold models for other devices. */
  public long idleBytes() {
    lock.lock();
    try {
      return memory.freeBytes() + memory.bytesHeldBy(residency -> residency.lodged);
    } finally {
      lock.unlock();
    }
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

  /** A lodger that misses a page for which there is room now, if there is one. */
  Optional<Residency> next() {
    for (Residency residency : wanted) {
      residency.lodged |= residency.pages.isEmpty() && residency.leases == 0;
      if (residency.lodged && residency.canGain(nanoClock.getAsLong())) {
        return makeRoom() ? Optional.of(residency) : Optional.empty();
      }
    }
    return Optional.empty();
  }

  private boolean makeRoom() {
    if (memory.freeBytes() < memory.pageBytes()) {
      memory.residencies.values().stream()
          .filter(other -> other.lodged && other.isEvictable() && !wanted.contains(other))
          .findFirst()
          .ifPresent(other -> memory.takeBack(other, 1));
    }
    return memory.freeBytes() >= memory.pageBytes();
  }

  /** A model is going. */
  void forget(Residency residency) {
    wanted = wanted.stream().filter(other -> other != residency).toList();
  }
}
