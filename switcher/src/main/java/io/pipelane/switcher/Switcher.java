package io.pipelane.switcher;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.execution.AllocationSizes;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.host.HostWeights;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.kept.KeptOverview;
import io.pipelane.switcher.memory.Appraisal;
import io.pipelane.switcher.memory.Lease;
import io.pipelane.switcher.memory.PeerMemory;
import io.pipelane.switcher.memory.account.TransferCounters;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.QueueOverview;
import io.pipelane.switcher.schedule.turn.Preemptions;
import io.pipelane.switcher.sequence.Sequences;
import io.pipelane.switcher.sequence.StatesOverview;
import io.pipelane.switcher.sequence.StepBounds;
import io.pipelane.switcher.sharing.Sharing;
import io.pipelane.switcher.sharing.gate.OnlineWork;
import io.pipelane.switcher.worker.RetryOverview;
import io.pipelane.switcher.worker.SessionOverview;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * The front door of this module: answers requests for every registered model from one device.
 *
 * <p>Safe for any thread; {@link #register} and {@link #deregister} block and belong on platform
 * threads.
 */
public final class Switcher implements InferenceService, AutoCloseable {
  private static final Duration LONGEST_RUN = Duration.ofHours(1);

  /** How long a version that leaves goes on answering the requests that it has taken. */
  public static final Duration LONGEST_LEAVING = Duration.ofSeconds(10);

  final SwitcherParts parts; // Tests look at them.

  /**
   * Takes charge of a device, which stays the caller's to close afterwards.
   *
   * @param memory what the factory's sessions allocate from
   * @param sessions builds sessions on the device; closed with the switcher
   * @param hostWeights where weights come from, or are read
   */
  public Switcher(
      Device device,
      DeviceMemory memory,
      SessionFactory sessions,
      SwitcherSettings settings,
      HostWeights hostWeights) {
    this(device, memory, sessions, settings, hostWeights, System::nanoTime);
  }

  /**
   * The same by another clock.
   *
   * @param nanoClock what is measured, estimated and decided by; whoever waits does so in real time
   */
  Switcher(
      Device device,
      DeviceMemory memory,
      SessionFactory sessions,
      SwitcherSettings settings,
      HostWeights hostWeights,
      LongSupplier nanoClock) {
    parts = new SwitcherParts(device, memory, sessions, settings, hostWeights, nanoClock);
  }

  /** Makes a model answerable as {@link #register(ImportedModel, ModelOptions)} does. */
  public void register(ImportedModel model) {
    register(model, ModelOptions.DEFAULT);
  }

  /**
   * Makes a model answerable; blocks while its session is built.
   *
   * @param options how its owner wants its requests to wait and to be run together
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when it can never fit, {@link
   *     Status#INVALID_ARGUMENT} when ONNX Runtime refuses it; nothing is left then
   * @throws IllegalStateException when the version is registered, or something is left of it
   */
  public void register(ImportedModel model, ModelOptions options) {
    try (OnlineWork.MemoryWait wait = memoryWait()) {
      parts.registration.register(
          model, options, range -> parts.worker.prepare(model, range, options.priority(), wait));
    }
  }

  /**
   * Makes a model answerable whose session is built when it is needed first, or {@link
   * StandingSessions#buildAhead ahead}, so this takes addresses and no memory. Blocks for a short
   * time.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when it can never fit; nothing is
   *     left then
   * @throws IllegalStateException when the version is registered, or something is left of it
   */
  public void announce(ImportedModel model, ModelOptions options) {
    parts.registration.register(
        model, options, range -> parts.worker.announce(model, range, options.priority()));
  }

  /**
   * Has a registered model's requests wait, and be run together, as its owner wants from now on.
   */
  public void agree(ImportedModel model, ModelOptions options) {
    parts.registration.agree(model, options);
  }

  /**
   * Takes a model out; blocks until its runs have ended and its memory is back. Online requests
   * that it has taken are answered first, and those of its holders, for ten seconds at most;
   * offline ones are refused, also those that run, at their next gate.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void deregister(ModelVersion version) {
    leave(version);
    remove(version, System.nanoTime() + LONGEST_LEAVING.toNanos());
  }

  /**
   * Takes no more requests for a model, but its holders' online ones, and refuses the offline ones
   * that it has taken; {@link #remove} follows.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void leave(ModelVersion version) {
    parts.registration.leave(version);
  }

  /**
   * Takes out a model that {@link #leave leaves}; blocks until its runs have ended and its memory
   * is back.
   *
   * @param endNanos how long the requests that it has taken are answered, by {@link
   *     System#nanoTime}
   */
  public void remove(ModelVersion version, long endNanos) {
    parts.registration.remove(version, endNanos);
  }

  /**
   * Brings a model's weights onto the device, evicting others; blocks until they are there.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered, or what reading its
   *     weights throws
   */
  public void warmUp(ModelVersion version) {
    try (Lease lease = parts.daemon.acquire(version)) {
      lease.awaitAll();
    }
  }

  /**
   * Has a model count as used once, and just now, by work of a class, whatever it has run.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void forgetUses(ModelVersion version, Priority priority) {
    parts.daemon.forgetUses(version, Optional.of(priority));
  }

  /**
   * Has everything on the device that runs of a model need, its session and its weights; blocks
   * until it is there.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered, what building its
   *     session throws, or what reading its weights throws
   */
  public void makeReady(ModelVersion version) {
    try (Lease lease = parts.daemon.acquire(version)) {
      try (OnlineWork.MemoryWait wait = memoryWait()) {
        parts.worker.makeReady(version, lease, wait);
      }
      lease.awaitAll();
    }
  }

  /** The sessions that are here, and how more come before anybody asks for them. */
  public StandingSessions standing() {
    return parts.standing;
  }

  /** How much models are asked for here, and what they lose by missing weights. */
  public Appraisal appraisal() {
    return parts.daemon.appraisal();
  }

  /** What this device has of models that span several. */
  public SpanParts spanParts() {
    return parts.spanParts;
  }

  /** The usual time of a request's run here, without its stall; 0 for one that is not known. */
  public long executionNanos(InferenceRequest request) {
    return parts.estimates.executionNanos(request);
  }

  /** Runs that compute at once at most. */
  public int lanes() {
    return parts.lanes;
  }

  /** Runs that may compute at once at present, as far as measuring has shown that this is best. */
  public int lanesInService() {
    return parts.execution.lanes();
  }

  /**
   * Says that a model will be asked soon; returns at once. Its weights come in while the link has
   * nothing more urgent to do, if the settings let anything come in ahead of requests.
   *
   * @param within how soon it should be there; empty for when there is time
   * @param priority of those who will ask
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void wish(ModelVersion version, Optional<Duration> within, Priority priority) {
    if (parts.fetchAhead.isPresent()) {
      parts.daemon.idleLink().wish(version, within, priority);
    }
  }

  /** Has what was wished with time come though it has given way since; see {@link #wish}. */
  public void keepWishing(ModelVersion version) {
    if (parts.fetchAhead.isPresent()) {
      parts.daemon.idleLink().keepWishing(version);
    }
  }

  /**
   * Takes a model's weights off the device; the next request brings them back. Blocks until its
   * runs have ended.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void evict(ModelVersion version) {
    evict(version, 0);
  }

  /**
   * Takes a model's weights off the device but for the first, in whole pages; the next request
   * brings the others back. Blocks until its runs have ended.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void evict(ModelVersion version, long keptBytes) {
    try (OnlineWork.MemoryWait wait = memoryWait()) {
      parts.daemon.evictions().evict(version, keptBytes, wait::begin);
    }
  }

  /** Of an owner's, for what held offline runs may have: those go on meanwhile. */
  private OnlineWork.MemoryWait memoryWait() {
    return parts.sharing.gate().online().new MemoryWait();
  }

  /**
   * Takes a model's weights off the device that are not wanted there any more, once its last run
   * and all copies of it have ended, unless it is asked for before; waits for nothing.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void evictOnceIdle(ModelVersion version) {
    parts.daemon.evictions().evictOnceIdle(version);
  }

  /** Whether the settings let anything come in ahead of requests. */
  public boolean bringsInAhead() {
    return parts.fetchAhead.isPresent();
  }

  @Override
  public Ticket submit(InferenceRequest request, ResultHandler handler) {
    return parts.admission.submit(request, handler);
  }

  @Override
  public Hold hold(ModelVersion version) {
    return parts.admission.hold(version);
  }

  @Override
  public Optional<SequenceState> sequence(ModelVersion model, String id) {
    return sequence(model, "", id);
  }

  /** The state of an owner's sequence; empty when there is no such sequence. */
  public Optional<SequenceState> sequence(ModelVersion model, String owner, String id) {
    return parts.sequences.find(model, owner, id);
  }

  /** Ends an owner's sequence, if there is one; see {@link Sequences#end}. */
  public void endSequence(ModelVersion model, String owner, String id) {
    parts.sequences.end(model, owner, id);
  }

  /** Whether a model has sequences that steps may come for. */
  public boolean hasSequences(ModelVersion model) {
    return parts.sequences.hasAny(model);
  }

  /** Host memory that states may have; see {@link SwitcherSettings}. */
  public long hostStateBytes() {
    return parts.hostStateBytes;
  }

  /** What may wait behind other steps of its sequence; see {@link StepBounds}. */
  public StepBounds waitingSteps() {
    return parts.waitingSteps;
  }

  @Override
  public boolean isUsable() {
    return !parts.sessions.isLost() && !parts.execution.standsStill();
  }

  /** ONNX Runtime's version. */
  public String runtimeVersion() {
    return parts.sessions.runtimeVersion();
  }

  /** Why requests for a model are refused at present, if they are; for any thread, and at once. */
  public Optional<String> quarantine(ModelVersion version) {
    return parts.worker.quarantine(version);
  }

  /** What became of runs that lost their worker process, and of their models. */
  public RetryOverview retries() {
    return parts.worker.retries();
  }

  /** Lets requests for a model that was refused be tried again. */
  public void trust(ModelVersion version) {
    parts.worker.trust(version);
  }

  /** What a model's owner should know of how it runs at present; for any thread, and at once. */
  public List<String> notes(ModelVersion version) {
    return parts.worker.notes(version);
  }

  /** Who holds what of the device's memory, now. */
  public MemoryOverview memory() {
    SessionOverview overview = parts.worker.sessions();
    long shared = Math.max(0, parts.sessions.frameworkBytes() - overview.frameworkBytes());
    return new MemoryOverview(
        parts.daemon.ledger(),
        parts.working.capacityBytes(),
        overview.bytes(),
        parts.working.laneBytes(),
        parts.working.states().heldBytes(),
        overview,
        parts.memory.frameworkBytes() + shared,
        parts.working.lanes().overview());
  }

  /** How large what ONNX Runtime has allocated was, as far as models run in this process. */
  public AllocationSizes allocations() {
    return parts.memory.sizes();
  }

  /** What this device has to do with other devices' memory. */
  public PeerMemory peers() {
    return parts.daemon.peers();
  }

  public TransferCounters transfers() {
    return parts.daemon.counters();
  }

  /** The median over the latest runs of |estimate - actual| / actual; see {@link Estimates}. */
  public double estimateError() {
    return parts.estimates.medianError();
  }

  /** The same of the time from a request's coming to its answer; see {@link Estimates}. */
  public double answerEstimateError() {
    return parts.estimates.medianAnswerError();
  }

  /** What is kept for sequences. */
  public StatesOverview states() {
    return parts.sequences.overview();
  }

  /** What is kept between two runs. */
  public KeptOverview kept() {
    return parts.kept.overview();
  }

  /** Says which models run here, where there are several devices: what they read may be kept. */
  public void keepOnlyFor(Predicate<ModelVersion> modelsHere) {
    parts.kept.readOnlyBy(modelsHere);
  }

  /** Runs that were made by the threads that brought the requests. */
  public long shortRuns() {
    return parts.execution.shortRuns();
  }

  /** What has been interrupted so far. */
  public Preemptions preemptions() {
    return parts.execution.preemptions();
  }

  /** How online and offline work share the device. */
  public Sharing sharing() {
    return parts.sharing;
  }

  /** What waits for a lane. */
  public QueueOverview queue() {
    return parts.queue.overview();
  }

  /** Whether nothing waits, runs or is on its way to the device. */
  public boolean isIdle() {
    return parts.queue.waiting() == 0 && parts.daemon.isIdle();
  }

  /** Rows that batches were filled up with to have a shape that is captured, since the start. */
  public long paddedRows() {
    return parts.worker.paddedRows();
  }

  /**
   * Checks every invariant of the memory's accounts.
   *
   * @throws IllegalStateException naming the one that does not hold
   */
  public void verify() {
    parts.daemon.ledger().verify();
    parts.working.lanes().checkSafety();
  }

  /**
   * Holds offline work back for online requests in flight alone, so that what was taken comes to
   * its end; requests are still taken, as those under way may ask for more. Returns at once, on any
   * thread.
   */
  public void beginDrain() {
    parts.sharing.gate().lift();
  }

  /** Holds no offline work back any more. Returns at once, on any thread. */
  public void releaseOffline() {
    parts.sharing.gate().close();
  }

  /**
   * Takes no more requests and waits for those that were taken.
   *
   * @return whether all of them have ended in time
   */
  public boolean drain(Duration timeout) {
    parts.queue.close();
    releaseOffline();
    return parts.execution.join(timeout);
  }

  /**
   * Finishes every request that was taken, then gives everything back.
   *
   * @throws IllegalStateException when they do not end; nothing is given back then
   */
  @Override
  public void close() {
    if (!drain(LONGEST_RUN)) {
      throw new IllegalStateException("runs are still under way");
    }
    parts.close();
  }
}
