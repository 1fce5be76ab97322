package io.pipelane.switcher.worker;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Invocation;
import io.pipelane.lanes.execution.LaneLease;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.ModelSession;
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
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A worker whose sessions are those of a {@link SessionFactory}, in this process or in others; what
 * loses its process is done once more.
 */
public final class SessionWorker implements Worker {
  /** What a session on a GPU takes with its captures, where none has shown otherwise. */
  private static final ByteSize USUAL_SESSION = ByteSize.ofMebibytes(32);

  private final SessionFactory sessions;
  private final Lanes lanes;
  private final SessionTable table;
  private final SessionRooms rooms;
  private final SessionPool pool;
  private final SessionBuilder builder;
  private final LongSupplier nanoClock;
  private final KeptTensors kept;
  private final SegmentProfiles profiles;
  private final Retries retries;
  private final LongAdder paddedRows = new LongAdder();

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
  public SessionWorker(
      SessionFactory sessions,
      PersistentMemory persistent,
      Lanes lanes,
      HeldBySequences states,
      KeptTensors kept,
      SegmentProfiles profiles,
      LongSupplier nanoClock) {
    this.profiles = profiles;
    this.kept = kept;
    this.sessions = sessions;
    this.retries = new Retries(sessions::isLost, sessions.runsOfflineApart());
    this.lanes = lanes;
    this.nanoClock = nanoClock;
    this.table = new SessionTable(lanes, nanoClock);
    this.rooms = new SessionRooms(table, lanes, kept, states);
    kept.tellWhenIdle(table::changed);
    this.pool = new SessionPool(table, sessions, persistent, nanoClock);
    this.builder = new SessionBuilder(sessions, lanes, table, rooms, pool);
  }

  @Override
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

  @Override
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

  @Override
  public boolean buildAhead(ModelVersion version) {
    return buildAhead(version, builder::buildAhead);
  }

  @Override
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

  @Override
  public void makeReady(ModelVersion version, Lease lease, MemoryWait wait) {
    Wanted variant = known(version);
    Priority priority = variant.priority();
    Wanted wanted = new Wanted(variant.model(), lease.range(), priority);
    builder.build(wanted, work -> retries.build(version, priority, work), wait);
  }

  @Override
  public boolean runsAtOnce(ModelVersion version) {
    Wanted variant = models.get(version);
    if (variant == null || !sessions.computesOnCaller()) {
      return false;
    }
    Plan plan = variant.model().plan();
    return !plan.repeats() && plan.inPlace().isEmpty(); // Those may have to be read from a disk.
  }

  @Override
  public boolean isUsable() {
    return !sessions.isLost();
  }

  @Override
  public boolean firstRunsStay() {
    return sessions.boundToLane() && !sessions.runsOfflineApart();
  }

  @Override
  public @Nullable StructureRange session(ModelVersion version) {
    @Nullable Wanted variant = models.get(version);
    return variant != null && table.builtIn(variant.range()) > 0 ? variant.range() : null;
  }

  @Override
  public int sessions(ModelVersion version) {
    @Nullable Wanted variant = models.get(version);
    return variant == null ? 0 : table.builtIn(variant.range());
  }

  @Override
  public Set<EphemeralRegion> readyLanes(ModelVersion version) {
    @Nullable Wanted variant = models.get(version);
    return variant == null ? Set.of() : table.readyLanesOf(variant.range());
  }

  @Override
  public boolean hasRoomUnshared(ImportedModel model, int coming) {
    long usual = sessions.processes() * USUAL_SESSION.bytes();
    long bytes = lanesForSessions() * table.budgets().expectedBytesOfAll(model, coming, usual);
    return bytes <= lanes.capacityBytes() / 2;
  }

  @Override
  public boolean isHere(String structureHash) {
    return table.budgets().isHere(structureHash);
  }

  @Override
  public int lanesForSessions() {
    return sessions.boundToLane() ? lanes.regions().size() : 1;
  }

  @Override
  public long buildNanos(ModelVersion version) {
    @Nullable Wanted variant = models.get(version);
    return variant == null ? 0 : table.budgets().buildNanos(variant.range().structure());
  }

  @Override
  public Set<EphemeralRegion> lanesOf(Lease lease) {
    return sessions.boundToLane() ? table.lanesOf(lease.range()) : Set.of();
  }

  @Override
  public SessionRoom makeRoom(Lease lease, long laneBytes, InferenceRequest run) {
    return rooms.makeRoom(lease.range().structure(), laneBytes, seeker(run), () -> {});
  }

  @Override
  public long sessionBytes(Lease lease) {
    return table.budgets().expectedBytes(lease.range().structure());
  }

  @Override
  public long sessionBytes(ModelVersion version) {
    @Nullable Wanted variant = models.get(version);
    return variant == null ? 0 : table.budgets().expectedBytes(variant.range().structure());
  }

  @Override
  public boolean hasRoomForRange(Structure structure) {
    return table.hasRoomForRange(structure);
  }

  @Override
  public boolean evictUnused(long bytes) {
    return table.evictUnused(bytes);
  }

  @Override
  public boolean canFree(long bytes) {
    return table.canFree(bytes);
  }

  @Override
  public boolean areOthersInUse() {
    return table.areOthersInUse();
  }

  @Override
  public void evictIdleBeside(long bytes) {
    evictor.execute(() -> table.evictIdle(bytes));
  }

  @Override
  public void makeLaneRoom(InferenceRequest run, long laneBytes, Runnable beforeWaiting) {
    rooms.makeLaneRoom(run.model(), laneBytes, seeker(run), beforeWaiting);
  }

  private static Seeker seeker(InferenceRequest run) {
    return new Seeker(run.priority(), run.place().stateBytes().getAsLong());
  }

  @Override
  public void run(
      InferenceRequest request, Lease lease, LaneLease lane, ResultHandler handler, Caller caller) {
    ImportedModel model = known(request.model()).model();
    if (sessions.computesOnCaller()) {
      runOnce(model, request, lease, lane, handler, caller); // There is no process to lose.
      return;
    }
    try {
      retries.run(
          request.model(),
          request.priority(),
          () -> request.isLate(nanoClock.getAsLong()),
          lease.control(),
          () -> runOnce(model, request, lease, lane, handler, caller));
    } catch (WorkerStuckException e) {
      throw heldBack(request, lease, lane, caller, e);
    }
  }

  @Override
  public boolean runIfReady(
      InferenceRequest request, Lease lease, LaneLease lane, ResultHandler handler, Caller caller) {
    ImportedModel model = known(request.model()).model();
    @Nullable PooledSession session = pool.takeBuilt(lease.range());
    if (session == null) {
      return false;
    }
    try {
      run(session.session(), invocation(model, request, handler, caller), lane, request, lease);
    } finally {
      pool.giveBack(session);
    }
    return true;
  }

  private Invocation invocation(
      ImportedModel model, InferenceRequest request, ResultHandler handler, Caller caller) {
    return new RequestInvocation(
        request, sessions.owner(model), handler, kept, caller::placed, nanoClock);
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

  private void runOnce(
      ImportedModel model,
      InferenceRequest request,
      Lease lease,
      LaneLease lane,
      ResultHandler handler,
      Caller caller) {
    boolean isAhead = request.place().lane().isPresent();
    PooledSession session =
        isAhead ? takeReady(model, lease, lane) : take(model, lease, lane, request.priority());
    Invocation invocation = invocation(model, request, handler, caller);
    try {
      // Buckets serve captures, which only sessions of lanes have.
      if (sessions.boundToLane()) {
        long padded =
            BucketedInvocation.run(
                invocation,
                model,
                rows -> {
                  lease.begin();
                  run(session.session(), rows, lane, request, lease);
                });
        paddedRows.add(padded);
      } else {
        run(session.session(), invocation, lane, request, lease);
      }
    } finally {
      if (isAhead) {
        pool.giveBackReady(session);
      } else {
        pool.giveBack(session);
      }
    }
  }

  private PooledSession takeReady(ImportedModel model, Lease lease, LaneLease lane) {
    @Nullable PooledSession session = pool.takeReady(lease.range(), lane.region());
    if (session == null) {
      throw StatusException.unavailable(
          "no session of %s stands ready in the lane".formatted(model.version()));
    }
    return session;
  }

  private PooledSession take(ImportedModel model, Lease lease, LaneLease lane, Priority priority) {
    try {
      return pool.take(model, lease.range(), lane.region(), priority);
    } catch (StatusException e) {
      boolean isOfTheModel =
          switch (e.status()) {
            case INVALID_ARGUMENT, UNIMPLEMENTED, INTERNAL -> true;
            default -> false; // There is no worker process for it now, say.
          };
      String message = "the session of " + model.version() + " cannot be built: ";
      throw isOfTheModel ? new StatusException(Status.INTERNAL, message + e.getMessage(), e) : e;
    }
  }

  private void run(
      ModelSession session,
      Invocation invocation,
      LaneLease lane,
      InferenceRequest request,
      Lease lease) {
    String structure = lease.range().structure().hash();
    lease.usuallyTakes(() -> profiles.totalNanos(structure, shapes(invocation.inputs())));
    try {
      session.run(invocation, lane.region(), lane::grow, lease);
      note(invocation, lease);
    } catch (StatusException e) {
      boolean runFailed = e.status() == Status.INTERNAL || e.status() == Status.INVALID_ARGUMENT;
      throw runFailed && !lease.failed() ? refused(request, e) : e;
    }
  }

  /** What runs of these shapes take is known of the structure from now on. */
  private void note(Invocation invocation, Lease lease) {
    long[] nanos = lease.segmentNanos();
    String structure = lease.range().structure().hash();
    if (nanos != null && profiles.isDue(structure, nanoClock.getAsLong())) {
      profiles.observed(structure, shapes(invocation.inputs()), nanos);
    }
  }

  private static String shapes(List<InputTensor> inputs) {
    return inputs.stream()
        .map(input -> input.name() + " " + input.type() + input.shape())
        .sorted()
        .collect(Collectors.joining(", "));
  }

  /**
   * An operator that fails did so on what the request gave it, such as an index out of range: its
   * model was checked, its memory and weights were there.
   */
  private static StatusException refused(InferenceRequest request, StatusException e) {
    return new StatusException(
        Status.INVALID_ARGUMENT,
        "model " + request.model() + " cannot be run on these inputs: " + e.getMessage(),
        e);
  }

  @Override
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

  @Override
  public Optional<String> quarantine(ModelVersion version) {
    return retries.quarantine(version);
  }

  @Override
  public RetryOverview retries() {
    return retries.overview();
  }

  @Override
  public void trust(ModelVersion version) {
    retries.forget(version);
  }

  @Override
  public List<String> notes(ModelVersion version) {
    Wanted variant = models.get(version);
    return variant == null ? List.of() : table.notes(variant.range().structure());
  }

  @Override
  public SessionOverview sessions() {
    return table.overview();
  }

  @Override
  public long paddedRows() {
    return paddedRows.sum();
  }

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
