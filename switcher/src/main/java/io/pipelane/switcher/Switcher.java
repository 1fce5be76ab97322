package io.pipelane.switcher;

import io.pipelane.config.SharingConfig;
import io.pipelane.config.SharingConfig.Multiprocessors;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.host.HostWeights;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.kept.KeptOverview;
import io.pipelane.switcher.kept.KeptTensors;
import io.pipelane.switcher.memory.Appraisal;
import io.pipelane.switcher.memory.Demand;
import io.pipelane.switcher.memory.Lease;
import io.pipelane.switcher.memory.MemoryDaemon;
import io.pipelane.switcher.memory.PeerMemory;
import io.pipelane.switcher.memory.StructureRange;
import io.pipelane.switcher.memory.TransferCounters;
import io.pipelane.switcher.memory.UnitParts;
import io.pipelane.switcher.memory.WorkingMemory;
import io.pipelane.switcher.residency.Unit;
import io.pipelane.switcher.schedule.Estimates;
import io.pipelane.switcher.schedule.Execution;
import io.pipelane.switcher.schedule.FetchAheadThread;
import io.pipelane.switcher.schedule.Preemptions;
import io.pipelane.switcher.schedule.QueueOverview;
import io.pipelane.switcher.schedule.RequestQueue;
import io.pipelane.switcher.schedule.Room;
import io.pipelane.switcher.schedule.SchedulingPolicies;
import io.pipelane.switcher.schedule.Terms;
import io.pipelane.switcher.sequence.Sequences;
import io.pipelane.switcher.sequence.StatesOverview;
import io.pipelane.switcher.sequence.TidiedStates;
import io.pipelane.switcher.sharing.MonitorThread;
import io.pipelane.switcher.sharing.OnlineWork;
import io.pipelane.switcher.sharing.Sharing;
import io.pipelane.switcher.worker.RetryOverview;
import io.pipelane.switcher.worker.SessionOverview;
import io.pipelane.switcher.worker.SessionWorker;
import io.pipelane.switcher.worker.Worker;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * Answers requests for every registered model from one device: the front door of this module.
 *
 * <p>Safe for any thread; {@link #register} and {@link #deregister} block and belong on platform
 * threads.
 */
public final class Switcher implements InferenceService, AutoCloseable {
  private static final Duration LONGEST_RUN = Duration.ofHours(1);

  /** How long a version that leaves goes on answering the requests that it has taken. */
  public static final Duration LONGEST_LEAVING = Duration.ofSeconds(10);

  private final LongSupplier clock = System::nanoTime;
  private final DeviceMemory memory;
  private final SessionFactory sessions;
  private final WorkingMemory working;
  private final MemoryDaemon daemon;
  private final Worker worker;
  private final Estimates estimates;
  private final RequestQueue queue;
  private final KeptTensors kept;
  private final Sequences sequences;
  private final SegmentProfiles profiles;
  private final Execution execution;
  private final Sharing sharing;
  private final int laneCount;
  private final long hostStateBytes;
  private final MonitorThread monitor;
  private final Optional<FetchAheadThread> fetchAhead;
  private final Admission admission;

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
    laneCount = settings.lanes();
    hostStateBytes = settings.hostStateBytes();
    this.memory = memory;
    this.sessions = sessions;
    this.profiles = settings.profiles();
    SharingConfig shared = settings.sharing().config();
    int allLanes = SwitcherSettings.allLanes(settings.lanes(), settings.scheduling(), shared);
    working =
        new WorkingMemory(
            device,
            memory,
            settings.workingBytes(),
            allLanes,
            device.vacatesPages() ? settings.weightBytes() : 0,
            settings.residency().offlineShare(),
            shared,
            this::writeOfflineStateOut);
    Lanes lanes = working.lanes();
    kept =
        new KeptTensors(
            device.name(), device.states(), lanes, settings.keptBytes(), this::hasAlike);
    sequences =
        new Sequences(
            new TidiedStates(device.states(), sessions::tidy),
            kept.yielding(lanes),
            working.offline(),
            settings.hostStateBytes(),
            this::makeRoomForStates,
            this::queued,
            clock);
    sharing =
        new Sharing(
            settings.sharing(),
            settings.lanes(),
            settings.scheduling().offlineSharePercent() / 100.0,
            working.shareLane().isPresent() ? shared.multiprocessors() : Multiprocessors.OFF,
            clock);
    worker =
        new SessionWorker(
            sessions, device.persistent(), lanes, this::freeIdle, kept, profiles, clock);
    daemon =
        new MemoryDaemon(
            device,
            settings.weightBytes(),
            hostWeights,
            settings.grouping(),
            worker::hasRoomForRange,
            settings.residency(),
            clock);
    lanes.borrowFrom(daemon.loans());
    daemon.peers().lendWhile(() -> !sessions.isLost());
    boolean comeAhead = settings.residency().config().prefetch();
    estimates =
        new Estimates(
            daemon.appraisal()::stallNanos,
            comeAhead ? daemon.appraisal()::leastStallNanos : _ -> 0);
    Room room = new Room(estimates, settings.weightBytes(), lanes::largestLaneBytes);
    queue =
        new RequestQueue(
            SchedulingPolicies.of(settings.scheduling(), estimates, room, sharing.gate()),
            estimates,
            settings.lanes(),
            settings.queuedRequests(),
            settings.queuedBytes(),
            clock);
    queue.repeatWhile(() -> !sessions.isLost());
    fetchAhead =
        settings.residency().config().prefetch()
            ? Optional.of(new FetchAheadThread(daemon, queue::upcoming))
            : Optional.empty();
    fetchAhead.ifPresent(thread -> queue.onWeightsMissed(thread::missed));
    execution =
        new Execution(
            settings.lanes(),
            allLanes,
            settings.scheduling(),
            queue,
            estimates,
            daemon,
            working,
            worker,
            sharing.gate(),
            clock);
    admission =
        new Admission(
            sequences,
            queue,
            execution,
            sharing.gate().online(),
            sharing.objectives(),
            fetchAhead,
            clock);
    device.lendLinkWhile(() -> !sharing.gate().online().isInFlight());
    sharing.onError(sessions::reset);
    sharing.onEviction(daemon::takeBackOffline);
    monitor = new MonitorThread(sharing, settings.sharing().config().period());
  }

  private void makeRoomForStates() {
    boolean _ = kept.giveIdleBack();
    worker.evictIdleBeside();
  }

  /** Has something leave working memory that nobody uses now; false when there is nothing. */
  private boolean freeIdle(Priority inFavourOf) {
    return kept.giveIdleBack() || sequences.writeOut(inFavourOf);
  }

  private boolean hasAlike(ModelVersion model) {
    return queue.hasAlike(model);
  }

  /** Makes room in what offline work may hold. */
  private boolean writeOfflineStateOut() {
    return sequences.writeOut(Priority.OFFLINE);
  }

  private Ticket queued(InferenceRequest request, ResultHandler handler) {
    return admission.queued(request, handler);
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
    register(model, options, range -> worker.prepare(model, range, options.priority()));
  }

  /**
   * Makes a model answerable whose session is built when it is needed first, or {@link #buildAhead
   * ahead}, so this takes addresses and no memory. Blocks for a short time.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when it can never fit; nothing is
   *     left then
   * @throws IllegalStateException when the version is registered, or something is left of it
   */
  public void announce(ImportedModel model, ModelOptions options) {
    register(model, options, range -> worker.announce(model, range, options.priority()));
  }

  private void register(
      ImportedModel model, ModelOptions options, Consumer<StructureRange> preparation) {
    ModelVersion version = model.version();
    InService service = admission.enter(version);
    try {
      sequences.agree(model, options.state());
      prepare(model, preparation);
    } catch (RuntimeException | Error e) {
      admission.forget(version);
      throw e;
    }
    agree(model, options);
    service.open();
  }

  /**
   * Has a registered model's requests wait, and be run together, as its owner wants from now on.
   */
  public void agree(ImportedModel model, ModelOptions options) {
    Terms terms = Terms.of(model, options);
    boolean alone = sequences.runsAlone(model.version());
    queue.agree(model.version(), alone ? terms.unbatched() : terms);
    sharing.gate().slowdowns().agree(model.version(), options.limits().maxSlowdown());
  }

  private void prepare(ImportedModel model, Consumer<StructureRange> preparation) {
    profiles.of(model.plan().structureHash()); // Reads its file while no lock is held.
    StructureRange range = daemon.register(model);
    try {
      preparation.accept(range);
    } catch (RuntimeException | Error e) {
      daemon.deregister(model.version());
      throw e;
    }
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
    admission.leave(version);
    queue.leave(version);
    execution.modelLeaves();
  }

  /**
   * Takes out a model that {@link #leave leaves}; blocks until its runs have ended and its memory
   * is back.
   *
   * @param endNanos how long the requests that it has taken are answered, by {@link
   *     System#nanoTime}
   */
  public void remove(ModelVersion version, long endNanos) {
    admission.awaitNone(version, endNanos);
    daemon.deregister(version);
    worker.discard(version);
    execution.forget(version);
    queue.forget(version);
    sharing.gate().slowdowns().forget(version);
    admission.forget(version);
  }

  /**
   * Brings a model's weights onto the device, evicting others; blocks until they are there.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered, or what reading its
   *     weights throws
   */
  public void warmUp(ModelVersion version) {
    try (Lease lease = daemon.acquire(version)) {
      lease.awaitAll();
    }
  }

  /**
   * Has a model count as used once, and just now, by work of a class, whatever it has run.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered
   */
  public void forgetUses(ModelVersion version, Priority priority) {
    daemon.forgetUses(version, priority);
  }

  /**
   * Has everything on the device that runs of a model need, its session and its weights; blocks
   * until it is there.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered, what building its
   *     session throws, or what reading its weights throws
   */
  public void makeReady(ModelVersion version) {
    try (Lease lease = daemon.acquire(version)) {
      worker.makeReady(version, lease);
      lease.awaitAll();
    }
  }

  /**
   * Builds the session of an announced model if there is room for it that nobody has to leave;
   * blocks while it does. The caller sees to it that the model is not deregistered meanwhile.
   *
   * @return false when there was no room, or no lane to build it in; a request makes some
   * @throws StatusException {@link Status#NOT_FOUND} when it is not registered, {@link
   *     Status#INVALID_ARGUMENT} or {@link Status#INTERNAL} when ONNX Runtime refuses it
   */
  public boolean buildAhead(ModelVersion version) {
    return worker.buildAhead(version);
  }

  /** How often each model is asked for here; see {@link Appraisal#uses}. */
  public Map<ModelVersion, Double> uses() {
    return daemon.appraisal().uses();
  }

  /** Says what this device has of a unit; see {@link UnitParts#join}. */
  public void join(List<ModelVersion> part, Unit unit) {
    daemon.parts().join(part, unit);
  }

  /**
   * Brings in all that this device has of a unit, and holds it; blocks while others hold the room.
   *
   * @throws StatusException as {@link UnitParts#acquire}; {@link #takeOut} follows then
   */
  public Hold switchIn(List<ModelVersion> part) {
    List<Lease> leases;
    try (OnlineWork.MemoryWait wait = sharing.gate().online().new MemoryWait()) {
      leases = daemon.parts().acquire(part, wait::begin);
    }
    Map<ModelVersion, Lease> byModel = new HashMap<>();
    for (int i = 0; i < part.size(); i++) {
      byModel.put(part.get(i), leases.get(i));
    }
    return new HeldPart(byModel, execution, sharing.gate().online(), clock);
  }

  /** Has models leave as soon as nothing runs on them; see {@link UnitParts#takeOut}. */
  public void takeOut(List<ModelVersion> part) {
    part.forEach(daemon.parts()::takeOut);
  }

  /** What a run of a model would lose by missing weights if it began now; at once, any thread. */
  public long stallNanos(ModelVersion version) {
    return daemon.appraisal().stallNanos(version);
  }

  /** The usual time of a request's run here, without its stall; 0 for one that is not known. */
  public long executionNanos(InferenceRequest request) {
    return estimates.executionNanos(request);
  }

  /**
   * What the models would wait longer, in nanoseconds each second, that had to give way to a model
   * if all of it were brought in; 0 where there is room for it.
   */
  public double displacedNanosPerSecond(ModelVersion version) {
    return daemon.appraisal().displacedNanosPerSecond(version);
  }

  /** Runs that compute at once at most. */
  public int lanes() {
    return laneCount;
  }

  /** Runs that may compute at once at present, as far as measuring has shown that this is best. */
  public int lanesInService() {
    return execution.lanes();
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
    if (fetchAhead.isPresent()) {
      daemon.idleLink().wish(version, within, priority);
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
    daemon.evict(version, keptBytes);
  }

  @Override
  public Ticket submit(InferenceRequest request, ResultHandler handler) {
    return admission.submit(request, handler);
  }

  @Override
  public Hold hold(ModelVersion version) {
    return admission.hold(version);
  }

  @Override
  public Optional<SequenceState> sequence(ModelVersion model, String id) {
    return sequence(model, "", id);
  }

  /** The state of an owner's sequence; empty when there is no such sequence. */
  public Optional<SequenceState> sequence(ModelVersion model, String owner, String id) {
    return sequences.find(model, owner, id);
  }

  /** Host memory that states may have; see {@link SwitcherSettings}. */
  public long hostStateBytes() {
    return hostStateBytes;
  }

  @Override
  public boolean isUsable() {
    return !sessions.isLost() && !execution.standsStill();
  }

  /** ONNX Runtime's version. */
  public String runtimeVersion() {
    return sessions.runtimeVersion();
  }

  /** Why requests for a model are refused at present, if they are; for any thread, and at once. */
  public Optional<String> quarantine(ModelVersion version) {
    return worker.quarantine(version);
  }

  /** What became of runs that lost their worker process, and of their models. */
  public RetryOverview retries() {
    return worker.retries();
  }

  /** Lets requests for a model that was refused be tried again. */
  public void trust(ModelVersion version) {
    worker.trust(version);
  }

  /** What a model's owner should know of how it runs at present; for any thread, and at once. */
  public List<String> notes(ModelVersion version) {
    return worker.notes(version);
  }

  /** Who holds what of the device's memory, now. */
  public MemoryOverview memory() {
    SessionOverview overview = worker.sessions();
    long shared = Math.max(0, sessions.frameworkBytes() - overview.frameworkBytes());
    return new MemoryOverview(
        daemon.ledger(),
        working.capacityBytes(),
        overview.bytes(),
        working.laneBytes(),
        overview,
        memory.frameworkBytes() + shared,
        working.lanes().overview());
  }

  /** What this device has to do with other devices' memory. */
  public PeerMemory peers() {
    return daemon.peers();
  }

  /** How much each model is asked for of which something is missing here, if it is at all. */
  public List<Demand> demands() {
    return daemon.appraisal().demands();
  }

  public TransferCounters transfers() {
    return daemon.counters();
  }

  /** The median over the latest runs of |estimate - actual| / actual; see {@link Estimates}. */
  public double estimateError() {
    return estimates.medianError();
  }

  /** The same of the time from a request's coming to its answer; see {@link Estimates}. */
  public double answerEstimateError() {
    return estimates.medianAnswerError();
  }

  /** What is kept for sequences. */
  public StatesOverview states() {
    return sequences.overview();
  }

  /** What is kept between two runs. */
  public KeptOverview kept() {
    return kept.overview();
  }

  /** Says which models run here, where there are several devices: what they read may be kept. */
  public void keepOnlyFor(Predicate<ModelVersion> modelsHere) {
    kept.readOnlyBy(modelsHere);
  }

  /** Runs that were made by the threads that brought the requests. */
  public long shortRuns() {
    return execution.shortRuns();
  }

  /** What has been interrupted so far. */
  public Preemptions preemptions() {
    return execution.preemptions();
  }

  /** How online and offline work share the device. */
  public Sharing sharing() {
    return sharing;
  }

  /** What waits for a lane. */
  public QueueOverview queue() {
    return queue.overview();
  }

  /** Whether nothing waits, runs or is on its way to the device. */
  public boolean isIdle() {
    return queue.overview().requests() == 0 && daemon.isIdle();
  }

  /** Rows that batches were filled up with to have a shape that is captured, since the start. */
  public long paddedRows() {
    return worker.paddedRows();
  }

  /**
   * Checks every invariant of the memory's accounts.
   *
   * @throws IllegalStateException naming the one that does not hold
   */
  public void verify() {
    daemon.ledger().verify();
    working.lanes().checkSafety();
  }

  /**
   * Holds no offline work back any more, so that what was taken comes to its end; requests are
   * still taken, as those under way may ask for more. Returns at once, on any thread.
   */
  public void beginDrain() {
    sharing.gate().close();
  }

  /**
   * Takes no more requests and waits for those that were taken.
   *
   * @return whether all of them have ended in time
   */
  public boolean drain(Duration timeout) {
    queue.close();
    beginDrain();
    return execution.join(timeout);
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
    fetchAhead.ifPresent(FetchAheadThread::close);
    monitor.close();
    admission.close();
    sequences.close();
    kept.close();
    daemon.close();
    worker.close();
    working.close();
    sessions.close();
  }
}
