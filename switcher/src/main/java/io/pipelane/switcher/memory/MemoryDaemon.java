package io.pipelane.switcher.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.lanes.CopyEngine;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.PagePool;
import io.pipelane.lanes.Releases;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.host.HostWeights;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.memory.account.TransferCounters;
import io.pipelane.switcher.memory.pages.PageContents;
import io.pipelane.switcher.memory.pages.PageContents.Content;
import io.pipelane.switcher.memory.pages.StagedPages;
import io.pipelane.switcher.residency.Holding;
import io.pipelane.switcher.residency.Holdings;
import io.pipelane.switcher.residency.IdleMoves;
import io.pipelane.switcher.residency.Pacing;
import io.pipelane.switcher.residency.Policies;
import io.pipelane.switcher.residency.ResidencySettings;
import io.pipelane.switcher.residency.Unit;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The daemon that decides which weights are on the device (PipeSwitch §4.3). It makes a model
 * resident group by group, evicts what is cheapest to lose, and keeps the ledger. Nothing takes
 * weight memory past it.
 *
 * <p>Safe for any platform thread; {@link #acquire} may block until memory can be had.
 */
public final class MemoryDaemon implements AutoCloseable {
  /*
   * One lock guards every Residency, the page pool and the budget; only its holder writes. While it
   * is held nothing waits for copies or runs, so a holder always gets done. Copy events call back
   * with the lock free, or held by the calling thread.
   *
   * Invariants (Ledger.verify checks the sums):
   * - lent pages <= capacity;
   * - a lease exists only on a model all of whose pages are mapped, filled or being filled;
   * - no page is taken from a model that has a lease or a copy under way, though another that
   *   holds the same may give it up (SharedPages);
   * - one transfer serves all that wait for a model: its arrivals are shared by every lease.
   */
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final PagePool pages;
  private final CopyEngine copies;
  private final WeightMemory memory;
  private final HostWeights hostWeights;
  private final Grouping grouping;
  private final PeerMemory peers;
  private final Structures structures;
  private final Holdings holdings;
  private final Stalls stalls;
  private final PagesFromDisk pagesFromDisk;
  private final PagesAhead pagesAhead;
  private final TablesAhead tablesAhead;
  private final FetchAhead fetchAhead;
  private final FetchOnDemand fetchOnDemand;
  private final OfflineQuota quota;
  private final Leasing leasing;
  private final Evictions evictions;
  private final Leaving leaving;
  private final UnitParts parts;
  private final LaneLoans loans;
  private final PageContents contents;
  private final LongSupplier nanoClock;
  private final Appraisal appraisal;
  private final IdleLink idleLink;

  /**
   * Takes charge of a device's pages.
   *
   * @param capacityBytes for weights, at most the device's pages
   * @param hostWeights where weights come from, or are read
   * @param roomForRange whether the sessions that one more range of a structure needs would fit
   * @param residency who gives way; {@link IdleLink#fetchAhead} is the caller's to call, or not
   */
  public MemoryDaemon(
      Device device,
      long capacityBytes,
      HostWeights hostWeights,
      Grouping grouping,
      Predicate<Structure> roomForRange,
      ResidencySettings residency,
      LongSupplier nanoClock) {
    this.pages = device.pages();
    this.copies = device.copies();
    this.hostWeights = hostWeights;
    this.grouping = grouping;
    this.nanoClock = nanoClock;
    ResidencyConfig config = residency.config();
    this.holdings =
        new Holdings(Policies.of(config.policy(), nanoClock.getAsLong()), config.halfLife());
    this.stalls = new Stalls(grouping, pages.pageBytes(), residency);
    StagedPages staged = new StagedPages(device, PagesAhead.MOST);
    this.contents =
        new PageContents(
            hostWeights, pages.pageBytes(), config.sharePages(), residency.zeroPages());
    this.memory =
        new WeightMemory(
            pages,
            capacityBytes,
            holdings,
            staged,
            residency.zeroPages(),
            this::transferOver,
            nanoClock);
    StuckLeases stuck = new StuckLeases(capacityBytes, pages.pageBytes());
    this.quota = new OfflineQuota(memory, stuck, capacityBytes, residency.offlineShare());
    IdleMoves idleMoves =
        new IdleMoves(
            holdings,
            Math.toIntExact(capacityBytes / pages.pageBytes()),
            stalls::pageNanos,
            config);
    this.peers =
        new PeerMemory(lock, memory, holdings, idleMoves, hostWeights, this::signal, nanoClock);
    this.appraisal =
        new Appraisal(lock, memory, holdings, peers, quota, pages.pageBytes(), nanoClock);
    this.structures = new Structures(device, memory, roomForRange, this::transferOver, nanoClock);
    Pacing pacing = new Pacing(config.pacing() ? device.restBehindCopies() : 0);
    this.pagesFromDisk = new PagesFromDisk(this::transferOver, nanoClock);
    this.pagesAhead =
        new PagesAhead(device, memory, peers, staged, pagesFromDisk, this::transferOver, nanoClock);
    this.tablesAhead = new TablesAhead(lock, device, memory, residency, this::signal, nanoClock);
    this.fetchAhead =
        new FetchAhead(
            memory,
            peers,
            idleMoves,
            new Wishes(stalls::pageNanos),
            pacing,
            pagesAhead,
            tablesAhead,
            new StayingPages(device, memory, this::signal, nanoClock),
            nanoClock);
    OpenLeases openLeases = new OpenLeases();
    this.fetchOnDemand =
        new FetchOnDemand(
            changed,
            memory,
            structures,
            new Transfers(copies, memory, peers, grouping, this::transferOver, this::nothingSent),
            fetchAhead,
            quota,
            openLeases,
            stuck);
    this.idleLink =
        new IdleLink(lock, memory, holdings, fetchAhead, fetchOnDemand, pacing, nanoClock);
    this.leasing =
        new Leasing(
            lock, changed, memory, holdings, stalls, openLeases, stuck, idleLink, nanoClock);
    this.evictions = new Evictions(lock, changed, memory, fetchAhead, openLeases);
    this.leaving =
        new Leaving(
            lock,
            changed,
            memory,
            holdings,
            appraisal,
            structures,
            fetchAhead,
            evictions,
            nanoClock);
    this.loans = new LaneLoans(lock, device, memory, fetchOnDemand, stuck, this::signal);
    this.parts = new UnitParts(lock, changed, leasing, memory, holdings, fetchOnDemand, nanoClock);
  }

  /**
   * Makes a model known, and holds in host memory what it reads there; nothing is transferred.
   * Blocks while its weights are read, the first time that anybody asks what is in their pages. A
   * former one of its version leaves first that could not when it was to; that is waited for.
   *
   * @return a range that its weights will lie in, shared with the other models of its structure
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when it can never fit; what reading
   *     its weights throws, and the device, as where the former one cannot leave
   * @throws IllegalStateException when its version is registered
   */
  public StructureRange register(ImportedModel model) {
    leaving.leaveIfStayed(model.version()); // Which frees the room that it has.
    memory.capacity.requireFits(model);
    List<Content> pageContents = contents.of(model);
    InPlaceWeights inPlace = InPlaceWeights.of(model, hostWeights);
    boolean registered = false;
    lock.lock();
    try {
      if (memory.residencies.containsKey(model.version())) {
        throw new IllegalStateException(model.version() + " is registered already");
      }
      List<Grouping.Group> groups = grouping.groups(model.plan(), 0);
      Structure structure = structures.join(model.plan());
      Holding holding = holdings.add(stalls.bySize(model.plan()), nanoClock.getAsLong());
      Residency residency = new Residency(model, structure, groups, holding, inPlace, pageContents);
      memory.add(residency);
      appraisal.publish(model.version(), holding);
      stalls.refresh(residency, holdings);
      registered = true;
      return structure.ranges.getFirst();
    } finally {
      lock.unlock();
      if (!registered) {
        inPlace.close();
      }
    }
  }

  /**
   * Forgets a model and takes its memory back; waits for the runs that hold a lease. What the
   * device fails to take back leaves before the model is registered again, or at the end.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered; what the device
   *     throws
   */
  public void deregister(ModelVersion version) {
    leaving.leave(version);
  }

  /**
   * Sees to it that a model's weights are on the device or on their way, evicting others.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when the model is not registered or about to
   *     go; what reading its weights throws
   */
  public Lease acquire(ModelVersion version) {
    return acquire(version, Priority.ONLINE, RunControl.NONE);
  }

  /**
   * The same for a caller that others may wait for.
   *
   * @param priority offline work waits behind other work, and gets no more than its share of memory
   * @param run leaves, perhaps several times, before the caller waits, says who makes way to it,
   *     and makes way itself; asked and told under this object's lock
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when offline work may never hold so
   *     much, {@link Status#UNAVAILABLE} when it would wait for processes that do not end
   */
  public Lease acquire(ModelVersion version, Priority priority, RunControl run) {
    lock.lock();
    try {
      Residency residency = memory.inService(version);
      residency.leaves = false;
      used(residency, priority, nanoClock.getAsLong());
      boolean mustWait = fetchOnDemand.isAwaitedBefore(residency, priority);
      if (priority == Priority.OFFLINE) {
        quota.requireFits(residency);
        mustWait |= !quota.admits(residency);
      }
      if (mustWait || !residency.isMounted() || !residency.isComplete()) {
        memory.counters.waits++;
        fetchOnDemand.makeReady(residency, priority, run);
      }
      return leasing.open(residency, priority, run);
    } finally {
      lock.unlock();
    }
  }

  /**
   * The same where nothing has to be waited for: the weights are there, nobody waits, and nobody
   * has this object's lock, under which pages are mapped and files opened.
   *
   * @param nowNanos by the daemon's clock
   * @param beside releases the lease, where that has to be waited for when it is closed
   * @return null otherwise; nothing has happened then
   * @throws StatusException {@link Status#NOT_FOUND} when the model is not registered or about to
   *     go
   */
  public @Nullable Lease tryAcquire(ModelVersion version, long nowNanos, Executor beside) {
    if (!lock.tryLock()) {
      return null;
    }
    try {
      Residency residency = memory.inService(version);
      if (fetchOnDemand.isAwaitedBefore(residency, Priority.ONLINE)
          || !residency.isMounted()
          || !residency.isComplete()
          || residency.isArriving()
          || !holdings.policy().keepsAfterRuns()) {
        return null;
      }
      used(residency, Priority.ONLINE, nowNanos);
      residency.leaves = false;
      return leasing.openAtOnce(residency, beside);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Has a model count as used once by work of a class, and just now, or never where none is named,
   * whatever it was used for before.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void forgetUses(ModelVersion version, Optional<Priority> by) {
    lock.lock();
    try {
      Holding used = memory.inService(version).holding;
      long now = nanoClock.getAsLong();
      by.ifPresentOrElse(
          priority -> holdings.usedOnce(used, priority, now), () -> holdings.unused(used, now));
    } finally {
      lock.unlock();
    }
  }

  private void used(Residency residency, Priority priority, long nowNanos) {
    holdings.used(residency.holding, priority, nowNanos);
    if (priority == Priority.ONLINE) {
      tablesAhead.used(residency, nowNanos);
    }
  }

  /** Whether nothing runs and no weights are on their way. */
  public boolean isIdle() {
    lock.lock();
    try {
      return idleLink.runs() == 0 && memory.copiesUnderWay.get() == 0;
    } finally {
      lock.unlock();
    }
  }

  /** What models' weights are worth here. */
  public Appraisal appraisal() {
    return appraisal;
  }

  /** What the link brings in while nobody waits for it. */
  public IdleLink idleLink() {
    return idleLink;
  }

  /** What this device has of models that span several. */
  public UnitParts parts() {
    return parts;
  }

  /** What is taken off the device because somebody says so. */
  public Evictions evictions() {
    return evictions;
  }

  /** What lanes have borrowed of the memory for weights. */
  public LaneLoans loans() {
    return loans;
  }

  /** What this device has to do with other devices' memory. */
  public PeerMemory peers() {
    return peers;
  }

  /** The state of the memory for weights, now. */
  public Ledger ledger() {
    lock.lock();
    try {
      return memory.ledger();
    } finally {
      lock.unlock();
    }
  }

  /** What has been moved and lost since the start. */
  public TransferCounters counters() {
    lock.lock();
    try {
      return memory.counters.snapshot(copies.borrowedBytes(), copies.peerBytes());
    } finally {
      lock.unlock();
    }
  }

  /** Takes everything back, one failure keeping nothing else; no lease may be open. */
  @Override
  public void close() {
    try (Releases all = new Releases()) { // In reverse order.
      all.add(pagesAhead, this::close);
      all.add(pagesFromDisk);
      all.add(leaving, Leaving::leaveAll);
    }
  }

  private void close(PagesAhead ahead) {
    lock.lock();
    try {
      ahead.close();
    } finally {
      lock.unlock();
    }
  }

  /** A part that has failed to come may have nobody left who would notice: its unit goes. */
  private void transferOver(Residency residency) {
    lock.lock();
    try {
      @Nullable Unit unit = residency.holding.unit();
      if (unit != null && residency.hasFailed()) {
        unit.broken();
      }
      if (residency.leaves) { // Its last run has ended while it was on its way.
        memory.settle(residency);
        memory.takeIfLeftBehind(residency);
      }
    } finally {
      lock.unlock();
      signal(); // Whatever went wrong here, others may wait for the link.
    }
  }

  /** Room may have been made for what had none. */
  private void nothingSent() {
    if (idleLink.hasTurnedAway()) {
      idleLink.tell();
    }
  }

  private void signal() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    idleLink.tell();
  }
}
