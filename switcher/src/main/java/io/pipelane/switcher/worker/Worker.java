package io.pipelane.switcher.worker;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.execution.LaneLease;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.kept.KeptTensors;
import io.pipelane.switcher.memory.Lease;
import io.pipelane.switcher.memory.Structure;
import io.pipelane.switcher.memory.StructureRange;
import io.pipelane.switcher.sharing.gate.OnlineWork.MemoryWait;
import io.pipelane.switcher.worker.SessionBuilder.Wanted;
import io.pipelane.switcher.worker.SessionRooms.Seeker;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A builder and runner of sessions on memory that the memory daemon lends. They are those of a
 * {@link SessionFactory}, in this process or in others; what loses its process is done once more.
 * Safe for any platform thread.
 */
public final class Worker implements AutoCloseable {
  /** What a session on a GPU takes with its captures, where none has shown otherwise. */
  private static final ByteSize USUAL_SESSION = ByteSize.ofMebibytes(32);

  private final SessionFactory sessions;
  private final Lanes lanes;
  private final SessionTable table;
  private final SessionRooms rooms;
  private final SessionBuilder builder;
  private final SessionRuns runs;
  private final LongSupplier nanoClock;
  private final Retries retries;

  /** One that works, one that waits: whoever asks meanwhile is served by those. */
  private final ThreadPoolExecutor evictor =
      new ThreadPoolExecutor(
          0,
          1,
          1,
          TimeUnit.SECONDS,
          new ArrayBlockingQueue<>(1),
          Thread.ofPlatform().daemon().name("session-evictor").factory(),
          new ThreadPoolExecutor.DiscardPolicy());

  /** Each with one of the ranges of its structure, whose sessions it runs in. */
  private final Map<ModelVersion, Wanted> models = new ConcurrentHashMap<>();

  /**
   * Makes a worker without models.
   *
   * @param lanes the working memory, which the sessions are charged to
   * @param states hold that memory too, and leave it while they are idle
   * @param kept where outputs lie that stay on the device
   * @param profiles told how long segments compute
   */
  public Worker(
      SessionFactory sessions,
      PersistentMemory persistent,
      Lanes lanes,
      HeldBySequences states,
      KeptTensors kept,
      SegmentProfiles profiles,
      LongSupplier nanoClock) {
    this.sessions = sessions;
    this.retries = new Retries(sessions::isLost, sessions.runsOfflineApart());
    this.lanes = lanes;
    this.nanoClock = nanoClock;
    this.table = new SessionTable(lanes, nanoClock);
    this.rooms = new SessionRooms(table, lanes, kept, states);
    kept.tellWhenIdle(table::changed);
    SessionPool pool = new SessionPool(table, sessions, persistent, nanoClock);
    this.builder = new SessionBuilder(sessions, lanes, table, rooms, pool);
    this.runs = new SessionRuns(sessions, pool, kept, states, profiles, nanoClock);
  }

  /** The caller that waits for a run; told on its thread, of one of the two at most. */
  public interface Caller {
    /** The outputs are written, and the run, which will not fail, goes on for the worker's sake. */
    void placed();

    /**
     * The run has failed, but its lane and its weights may be touched still, until it returns: its
     * process has been killed and does not end.
     */
    void failed(StatusException reason);
  }

  /** Room kept free for one session, which the next of its structure to be built uses. */
  public interface SessionRoom extends AutoCloseable {
    @Override
    void close();
  }

  /**
   * Makes a model known, and builds a session for it unless one of its structure exists.
   *
   * @param range where its weights will lie
   * @param priority the class of requests that name none
   * @param wait begun, perhaps several times, while it waits for what runs have
   * @throws StatusException when ONNX Runtime refuses the model, or its constants can never fit
   */
  public void prepare(
      ImportedModel model, StructureRange range, Priority priority, MemoryWait wait) {
    table.join(model, range.structure());
    boolean built = false;
    try {
      Wanted variant = new Wanted(model, range, priority);
      builder.build(variant, retries.preparing(model.version(), priority), wait);
      models.put(model.version(), variant);
      built = true;
    } finally {
      if (!built) {
        table.leave(range.structure());
      }
    }
  }

  /**
   * Makes a model known; its session is built when it is needed first, or {@link #buildAhead
   * ahead}.
   *
   * @throws StatusException when its constants can never fit
   */
  public void announce(ImportedModel model, StructureRange range, Priority priority) {
    table.join(model, range.structure());
    boolean fits = false;
    try {
      rooms.requireFits(range.structure());
      fits = true;
    } finally {
      if (!fits) {
        table.leave(range.structure());
      }
    }
    retries.forget(model.version());
    models.put(model.version(), new Wanted(model, range, priority));
  }

  /**
   * Builds a session for a model that none of its structure has, if there is room that nobody has
   * to leave. Nothing is brought in. The caller sees to it that the model is not discarded
   * meanwhile.
   *
   * @return whether there is one, or soon will be; false when there was no room for it, or no lane
   *     to build it in
   * @throws StatusException when ONNX Runtime refuses the model, or building it twice loses its
   *     process
   */
  public boolean buildAhead(ModelVersion version) {
    return buildAhead(version, builder::buildAhead);
  }

  /**
   * The same in a lane that has no session for the model yet, where sessions are bound to lanes.
   *
   * @return false when there was no room for it, or no such lane that nobody is in; true where
   *     every lane has one
   * @throws StatusException as {@link #buildAhead}
   */
  public boolean buildInAnotherLane(ModelVersion version) {
    return buildAhead(version, builder::buildInAnotherLane);
  }

  private boolean buildAhead(ModelVersion version, Predicate<Wanted> build) {
    Wanted variant = known(version);
    AtomicBoolean hadRoom = new AtomicBoolean();
    try {
      retries.build(version, variant.priority(), () -> hadRoom.set(build.test(variant)));
      return hadRoom.get();
    } catch (NoSessionRoomException e) {
      return false;
    }
  }

  /**
   * Builds a session for the model of a lease where there is none. Called outside of lanes.
   *
   * @param wait begun, perhaps several times, while it waits for what runs have
   * @throws StatusException when there is no room for it, and never can be
   */
  public void makeReady(ModelVersion version, Lease lease, MemoryWait wait) {
    Wanted variant = known(version);
    Priority priority = variant.priority();
    Wanted wanted = new Wanted(variant.model(), lease.range(), priority);
    builder.build(wanted, work -> retries.build(version, priority, work), wait);
  }

  /**
   * Whether a model's runs compute on the thread that calls, for a time that its inputs' shapes
   * determine; for any thread, and at once.
   */
  public boolean runsAtOnce(ModelVersion version) {
    Wanted variant = models.get(version);
    if (variant == null || !sessions.computesOnCaller()) {
      return false;
    }
    Plan plan = variant.model().plan();
    return !plan.repeats() && plan.inPlace().isEmpty(); // Those may have to be read from a disk.
  }

  /**
   * Whether runs can succeed; false once the device is lost, of which nothing need be asked again.
   */
  public boolean isUsable() {
    return !sessions.isLost();
  }

  /**
   * Whether a session keeps what a first run has loaded and captured, and runs of both classes have
   * it in common.
   */
  public boolean firstRunsStay() {
    return sessions.boundToLane() && !sessions.runsOfflineApart();
  }

  /**
   * The range that a model's session is built for, if one is; models that share it share the
   * session. For any thread, and at once.
   */
  public @Nullable StructureRange session(ModelVersion version) {
    @Nullable Wanted variant = models.get(version);
    return variant != null && table.builtIn(variant.range()) > 0 ? variant.range() : null;
  }

  /** How many of them are built. For any thread, and at once. */
  public int sessions(ModelVersion version) {
    @Nullable Wanted variant = models.get(version);
    return variant == null ? 0 : table.builtIn(variant.range());
  }

  /**
   * The lanes in which a model's sessions are built; none where they are bound to none. For any
   * thread, and at once.
   */
  public Set<EphemeralRegion> readyLanes(ModelVersion version) {
    @Nullable Wanted variant = models.get(version);
    return variant == null ? Set.of() : table.readyLanesOf(variant.range());
  }

  /**
   * Whether a model that is to come may have its own sessions rather than share those of a
   * structure that is here: whether all that is here, and it, would leave half of the working
   * memory if they had a session in each lane. For any thread, and at once.
   *
   * @param coming models with sessions of their own that are about to come as well
   */
  public boolean hasRoomUnshared(ImportedModel model, int coming) {
    long usual = sessions.processes() * USUAL_SESSION.bytes();
    long bytes = lanesForSessions() * table.budgets().expectedBytesOfAll(model, coming, usual);
    return bytes <= lanes.capacityBytes() / 2;
  }

  /** Whether a model of a structure is here. For any thread, and at once. */
  public boolean isHere(String structureHash) {
    return table.budgets().isHere(structureHash);
  }

  /** How many sessions there may be for a model: one, or one in each lane. At once. */
  public int lanesForSessions() {
    return sessions.boundToLane() ? lanes.regions().size() : 1;
  }

  /** What building a model's session took lately; 0 where none was. Any thread, at once. */
  public long buildNanos(ModelVersion version) {
    @Nullable Wanted variant = models.get(version);
    return variant == null ? 0 : table.budgets().buildNanos(variant.range().structure());
  }

  /** The lanes in which the model of a lease can run without its session being built first. */
  public Set<EphemeralRegion> lanesOf(Lease lease) {
    return sessions.boundToLane() ? table.lanesOf(lease.range()) : Set.of();
  }

  /**
   * Waits for room for a session of the lease's model, and for a lane beside it. Called outside of
   * lanes; closed by the same thread, after the run.
   *
   * @param run whose lane it will be
   * @throws StatusException as {@link #makeLaneRoom}
   */
  public SessionRoom makeRoom(Lease lease, long laneBytes, InferenceRequest run) {
    return rooms.makeRoom(lease.range().structure(), laneBytes, seeker(run), () -> {});
  }

  /** What a session of the lease's model is expected to take, were one more built. */
  public long sessionBytes(Lease lease) {
    return table.budgets().expectedBytes(lease.range().structure());
  }

  /** The same for a model that is not leased; 0 for one that is not known. */
  public long sessionBytes(ModelVersion version) {
    @Nullable Wanted variant = models.get(version);
    return variant == null ? 0 : table.budgets().expectedBytes(variant.range().structure());
  }

  /** Whether the sessions that one more range of a structure needs would fit now. */
  public boolean hasRoomForRange(Structure structure) {
    return table.hasRoomForRange(structure);
  }

  /**
   * Closes one of the sessions that nobody has asked for since they were built, in favour of so
   * many bytes of working memory; none where they are free already.
   *
   * @return false where closing all of them would not be enough; none is closed then
   */
  public boolean evictUnused(long bytes) {
    return table.evictUnused(bytes);
  }

  /**
   * Whether so many bytes of working memory are free, or would be with all idle sessions closed;
   * for any thread, and at once.
   */
  public boolean canFree(long bytes) {
    return table.canFree(bytes);
  }

  /**
   * Has idle sessions be closed by another thread, in favour of so many bytes of working memory;
   * none where closing all of them would not be enough.
   */
  public void evictIdleBeside(long bytes) {
    evictor.execute(() -> table.evictIdle(bytes));
  }

  /**
   * Closes idle sessions, and has idle states leave, until a run can have a lane of so many bytes.
   * Called outside of lanes.
   *
   * @param beforeWaiting called, perhaps several times, before it waits for sessions in use
   * @throws StatusException when it never can, or what holds it is not waited for
   */
  public void makeLaneRoom(InferenceRequest run, long laneBytes, Runnable beforeWaiting) {
    rooms.makeLaneRoom(run.model(), laneBytes, seeker(run), beforeWaiting);
  }

  private static Seeker seeker(InferenceRequest run) {
    return new Seeker(run.priority(), run.place().stateBytes().getAsLong());
  }

  /**
   * Runs a request once, on the calling thread; places its outputs with the handler, and tells the
   * handler nothing else.
   *
   * @param caller told what the end will be where that is known sooner
   * @throws NoSessionRoomException when a session has to be built and there is no room for it now
   * @throws io.pipelane.lanes.execution.OutOfDeviceMemoryException when the lane has no room and
   *     cannot grow; nothing has been placed then
   * @throws StatusException when the run fails, or twice loses its process
   */
  public void run(
      InferenceRequest request, Lease lease, LaneLease lane, ResultHandler handler, Caller caller) {
    ImportedModel model = known(request.model()).model();
    if (sessions.computesOnCaller()) {
      runs.run(model, request, lease, lane, handler, caller); // There is no process to lose.
      return;
    }
    try {
      retries.run(
          request.model(),
          request.priority(),
          () -> request.isLate(nanoClock.getAsLong()),
          lease.control(),
          () -> runs.run(model, request, lease, lane, handler, caller));
    } catch (WorkerStuckException e) {
      throw heldBack(request, lease, lane, caller, e);
    }
  }

  /**
   * The same of a model that {@link #runsAtOnce}, where its session is built.
   *
   * @return false where it is not; nothing has happened then
   */
  public boolean runIfReady(
      InferenceRequest request, Lease lease, LaneLease lane, ResultHandler handler, Caller caller) {
    return runs.runIfReady(known(request.model()).model(), request, lease, lane, handler, caller);
  }

  /** Keeps the lane and the weights of a run whose process does not end; nobody waits for that. */
  private static StatusException heldBack(
      InferenceRequest request,
      Lease lease,
      LaneLease lane,
      Caller caller,
      WorkerStuckException stuck) {
    StatusException failure =
        StatusException.unavailable(
            "the run of %s was interrupted: %s".formatted(request.model(), stuck.getMessage()),
            stuck);
    String reason = String.valueOf(failure.getMessage());
    lane.markStuck(reason);
    lease.markStuck(reason);
    caller.failed(failure);
    lease.control().computesNoMore();
    stuck.awaitGone();
    return failure;
  }

  /** Forgets a model; nothing of it runs. */
  public void discard(ModelVersion version) {
    Wanted variant = models.remove(version);
    if (variant == null) {
      return;
    }
    retries.forget(version);
    try {
      table.leave(variant.range().structure());
    } finally {
      sessions.forget(variant.model());
    }
  }

  /** Why a model's requests are refused, if they are; for any thread, and at once. */
  public Optional<String> quarantine(ModelVersion version) {
    return retries.quarantine(version);
  }

  /** What became of runs that lost their process; for any thread, and at once. */
  public RetryOverview retries() {
    return retries.overview();
  }

  /** Forgets why a model's requests are refused. */
  public void trust(ModelVersion version) {
    retries.forget(version);
  }

  /** What the sessions of a model tell of how they run; for any thread, and at once. */
  public List<String> notes(ModelVersion version) {
    Wanted variant = models.get(version);
    return variant == null ? List.of() : table.notes(variant.range().structure());
  }

  /** The sessions that exist now. */
  public SessionOverview sessions() {
    return table.overview();
  }

  /** Rows that batches were filled up with, since the start; for any thread, and at once. */
  public long paddedRows() {
    return runs.paddedRows();
  }

  /** Forgets every model; nothing runs any more. */
  @Override
  public void close() {
    evictor.close();
    List.copyOf(models.keySet()).forEach(this::discard);
  }

  /** A request that came before a version was deregistered may run while it is registered anew. */
  private Wanted known(ModelVersion version) {
    Wanted variant = models.get(version);
    if (variant == null) {
      throw new StatusException(Status.NOT_FOUND, "model " + version + " is not in service");
    }
    return variant;
  }
}
