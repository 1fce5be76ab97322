package io.pipelane.switcher.memory;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.PagePool;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.host.HostWeights;
import io.pipelane.switcher.grouping.Grouping;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * Decides which weights are on the device (PipeSwitch §4.3): makes a model resident group by group,
 * evicts what is cheapest to lose, and keeps the ledger. Nothing takes weight memory past it.
 *
 * <p>Safe for any platform thread; {@link #acquire} may block until memory can be had.
 */
public final class MemoryDaemon implements AutoCloseable {
  /*
   * One lock guards every Residency, the page pool and the budget; it is the only writer's pass.
   * While it is held nothing waits for copies or runs, so a holder always gets done. Copy events
   * call back with the lock free, or held by the calling thread.
   *
   * Invariants (Ledger.verify checks the sums):
   * - lent pages <= capacity;
   * - a lease exists only on a model all of whose pages are mapped, filled or being filled;
   * - no page is taken from a model that has a lease or a copy under way;
   * - one transfer serves all that wait for a model: its arrivals are shared by every lease.
   *
   * Those that need pages stand in one line, so that a large model is not starved by small ones;
   * while the line is not empty, everybody joins it. Before that, those that need a structure's
   * range, or pages, stand in the structure's line: only its first stands in the other one, too.
   */
  private static final Duration USAGE_HALF_LIFE = Duration.ofMinutes(1);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Deque<Structure.Turn> line = new ArrayDeque<>();
  private final PagePool pages;
  private final WeightMemory memory;
  private final long capacityBytes;
  private final HostWeights hostWeights;
  private final Grouping grouping;
  private final Transfers transfers;
  private final Structures structures;
  private final LongSupplier nanoClock;

  /**
   * Takes charge of a device's pages.
   *
   * @param capacityBytes for weights, at most the device's pages
   * @param hostWeights where weights come from, or are read
   * @param roomForRange whether the sessions that one more range of a structure needs would fit
   */
  public MemoryDaemon(
      Device device,
      long capacityBytes,
      HostWeights hostWeights,
      Grouping grouping,
      Predicate<Structure> roomForRange,
      LongSupplier nanoClock) {
    this.pages = device.pages();
    this.capacityBytes = capacityBytes;
    this.hostWeights = hostWeights;
    this.grouping = grouping;
    this.nanoClock = nanoClock;
    this.memory = new WeightMemory(pages, capacityBytes, nanoClock);
    this.transfers = new Transfers(device.copies(), memory, hostWeights, grouping, this::signal);
    this.structures = new Structures(device, memory, roomForRange, this::signal, nanoClock);
  }

  /**
   * Makes a model known, and holds in host memory what it reads there; nothing is transferred.
   *
   * @return a range that its weights will lie in, shared with the other models of its structure
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when it can never fit
   */
  public StructureRange register(ImportedModel model) {
    long weightBytes = model.plan().weightBytes();
    long needed = Math.ceilDiv(weightBytes, pages.pageBytes()) * pages.pageBytes();
    if (needed > capacityBytes) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "model "
              + model.version()
              + " needs "
              + new ByteSize(needed)
              + " of device memory for its weights; device.memory is "
              + new ByteSize(capacityBytes)
              + ", raise it to serve this model");
    }
    InPlaceWeights inPlace = InPlaceWeights.of(model, hostWeights);
    boolean registered = false;
    lock.lock();
    try {
      if (memory.residencies.containsKey(model.version())) {
        throw new IllegalStateException(model.version() + " is registered already");
      }
      Usage usage = new Usage(USAGE_HALF_LIFE, nanoClock.getAsLong());
      int groups = grouping.groups(model.plan(), 0).size();
      Structure structure = structures.join(model.plan());
      Residency residency = new Residency(model, structure, groups, usage, inPlace);
      memory.residencies.put(model.version(), residency);
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
   * Forgets a model and takes its memory back; waits for the runs that hold a lease.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void deregister(ModelVersion version) {
    lock.lock();
    try {
      Residency residency = known(version);
      residency.retired = true;
      emptyOut(residency, 0);
      structures.leave(residency);
      residency.inPlace.close();
      memory.residencies.remove(version);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Takes a model's weights off the device but for the first; it stays registered. Waits for the
   * runs that hold a lease.
   *
   * @param keptBytes what may stay, in whole pages
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void evict(ModelVersion version, long keptBytes) {
    lock.lock();
    try {
      Residency residency = known(version);
      emptyOut(residency, keptBytes);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void emptyOut(Residency residency, long keptBytes) {
    while (residency.leases > 0 || residency.isArriving()) {
      changed.awaitUninterruptibly();
    }
    memory.settle(residency); // What has failed to arrive is not kept.
    int kept = (int) Math.min(residency.pages.size(), keptBytes / pages.pageBytes());
    memory.takeBack(residency, residency.pages.size() - kept);
  }

  /**
   * Sees to it that a model's weights are on the device or on their way, evicting others.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when the model is not registered or about to
   *     go; what reading its weights throws
   */
  public Lease acquire(ModelVersion version) {
    lock.lock();
    try {
      Residency residency = known(version);
      residency.usage.used(nanoClock.getAsLong());
      boolean mustWait = !line.isEmpty() || !residency.structure.line.isEmpty();
      if (mustWait || !residency.isMounted() || !residency.isComplete()) {
        memory.counters.waits++;
        makeReady(residency);
      }
      residency.leases++;
      return new Lease(this, residency, nanoClock);
    } finally {
      lock.unlock();
    }
  }

  private void makeReady(Residency residency) {
    AtomicBoolean waited = new AtomicBoolean();
    inTurn(residency.structure.line, residency, () -> mount(residency, waited));
  }

  /** Mounts a model in its structure's turn, then brings in what is missing in everybody's. */
  private boolean mount(Residency residency, AtomicBoolean waited) {
    if (!structures.mount(residency, waited.getAndSet(true))) {
      return false;
    }
    if (!line.isEmpty() || !residency.isComplete()) {
      inTurn(line, residency, () -> bringIn(residency));
    }
    return true;
  }

  /** Waits until it is the caller's turn, and what it does then succeeds. */
  private void inTurn(Deque<Structure.Turn> turns, Residency residency, BooleanSupplier work) {
    Structure.Turn turn = new Structure.Turn();
    turns.addLast(turn);
    try {
      while (turns.peekFirst() != turn || !work.getAsBoolean()) {
        changed.awaitUninterruptibly();
        requireInService(residency);
      }
    } finally {
      turns.remove(turn);
      changed.signalAll();
    }
  }

  void release(Residency residency) {
    lock.lock();
    try {
      residency.leases--;
      memory.settle(residency);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
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
      return memory.counters.snapshot();
    } finally {
      lock.unlock();
    }
  }

  /** Takes everything back; no lease may be open. */
  @Override
  public void close() {
    for (ModelVersion version : List.copyOf(memory.residencies.keySet())) {
      deregister(version);
    }
  }

  private Residency known(ModelVersion version) {
    Residency residency = memory.residencies.get(version);
    if (residency == null || residency.retired) {
      throw notInService(version);
    }
    return residency;
  }

  /** A model that was registered anew meanwhile has another residency, which is not this one. */
  private static void requireInService(Residency residency) {
    if (residency.retired) {
      throw notInService(residency.model.version());
    }
  }

  private static StatusException notInService(ModelVersion version) {
    return new StatusException(Status.NOT_FOUND, "model " + version + " is not in service");
  }

  /** Starts the transfer of what is missing; false when that has to wait. */
  private boolean bringIn(Residency residency) {
    memory.settle(residency);
    if (residency.isComplete()) {
      return true;
    }
    long missing = memory.missingBytes(residency);
    if (residency.hasFailed() || !memory.makeRoom(missing, residency)) {
      return false;
    }
    transfers.start(residency);
    return true;
  }

  private void signal() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
