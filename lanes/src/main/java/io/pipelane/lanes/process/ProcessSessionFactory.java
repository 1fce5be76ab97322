package io.pipelane.lanes.process;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceExport;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.SharedDevice;
import io.pipelane.lanes.SharedLane;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.settings.WorkerSettings;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A factory of sessions in worker processes: built at once in the one that needs them, in the
 * background in others.
 */
public final class ProcessSessionFactory implements SessionFactory {
  private static final System.Logger LOG = System.getLogger(ProcessSessionFactory.class.getName());

  /** How long workers that stand by, and may hang, keep anybody waiting. */
  private static final Duration LONGEST_WAIT = Duration.ofMillis(250);

  /** A driver tells of an error so long after the process has ended that made it, at most. */
  private static final Duration LATEST_REPORT = Duration.ofSeconds(5);

  private static final Duration LONGEST_END = Duration.ofSeconds(5);

  private final SharedDevice device;
  private final SharedPlaces shared;
  private final WorkerSettings settings;
  private final Map<Long, KnownSession> sessions = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();
  private final BackgroundSessions background;
  private final CaptureLosses captureLosses = new CaptureLosses();

  /** What is asked of several workers at once, so that none waits for another that is busy. */
  private final ExecutorService beside =
      Executors.newCachedThreadPool(
          Thread.ofPlatform().daemon().name("worker-beside-", 0).factory());

  private final WorkerSupervisor supervisor;
  private final String runtimeVersion;

  /**
   * Starts workers; blocks until the first is ready.
   *
   * @param device opened for workers
   * @throws StatusException when none becomes ready
   */
  public ProcessSessionFactory(CpuDevice device, WorkerSettings settings) {
    this(device, device.export(), new TransferMemory(MemorySegment.NULL), settings);
  }

  /**
   * Starts workers; blocks until the first is ready.
   *
   * @param export what they open the device by
   * @param transfers what lies here, workers read and write in place
   * @throws StatusException when none becomes ready
   */
  public ProcessSessionFactory(
      SharedDevice device, DeviceExport export, TransferMemory transfers, WorkerSettings settings) {
    this(device, export, transfers, settings, new AtomicInteger()::incrementAndGet);
  }

  /**
   * The same.
   *
   * @param ids numbers that no other worker has
   */
  public ProcessSessionFactory(
      SharedDevice device,
      DeviceExport export,
      TransferMemory transfers,
      WorkerSettings settings,
      IntSupplier ids) {
    this.device = device;
    this.shared = new SharedPlaces(transfers, sharedStates(device, settings));
    this.settings = settings;
    this.background = new BackgroundSessions(sessions, this::board, settings.crew().buildsAtOnce());
    this.supervisor =
        new WorkerSupervisor(
            settings,
            export,
            ids,
            background::catchUp,
            this::checkDeviceBeside,
            Thread.ofPlatform().daemon().factory());
    this.runtimeVersion = supervisor.start();
  }

  /**
   * Where workers read and write states in place. Those in the host's memory can be had only all
   * together, so workers that are not to see each other's are sent what they need.
   */
  private static DeviceStates sharedStates(SharedDevice device, WorkerSettings settings) {
    boolean areSent = settings.isMemoryApart() && !device.states().areOnDevice();
    return areSent ? DeviceStates.ON_HOST : device.states();
  }

  private WorkerBoard board() {
    return supervisor.board();
  }

  WorkerSettings settings() {
    return settings;
  }

  /** What lies here, workers read and write in place. */
  SharedPlaces shared() {
    return shared;
  }

  CaptureLosses captureLosses() {
    return captureLosses;
  }

  /**
   * Enters the worker of a class of work for a run, see {@link WorkerBoard#enter}. Offline work
   * that has a worker of its own lets online work compute while that is away.
   *
   * @param patienceNanos how long to wait for one at most; never longer than for a start
   * @param weights told before it waits
   */
  WorkerProcess enter(Priority priority, String owner, long patienceNanos, WeightArrivals weights) {
    if (priority == Priority.OFFLINE && runsOfflineApart()) {
      Optional<WorkerProcess> there = board().tryEnter(priority, owner);
      if (there.isPresent()) {
        return there.get();
      }
      weights.awaitsProcess();
    }
    return enter(priority, owner, patienceNanos);
  }

  private WorkerProcess enter(Priority priority, String owner, long patienceNanos) {
    long nanos = Math.min(patienceNanos, settings.times().start().toNanos());
    return board().enter(priority, Duration.ofNanos(nanos), owner);
  }

  /** The same with all the time that a start may take. */
  WorkerProcess enter(Priority priority, String owner) {
    return enter(priority, owner, Long.MAX_VALUE);
  }

  @Override
  public boolean runsOfflineApart() {
    return settings.crew().offlineApart();
  }

  @Override
  public String owner(ImportedModel model) {
    return switch (settings.switchOn()) {
      case FAULT -> "";
      case TENANT -> "tenant " + model.tenant();
      case MODEL -> "model " + model.version();
    };
  }

  @Override
  public boolean boundToLane() {
    return device.boundToLane();
  }

  @Override
  public int processes() {
    return settings.crew().size();
  }

  /** {@inheritDoc} What workers of a device of the host's take for themselves is among it. */
  @Override
  public long frameworkBytes() {
    return device.isHostMemory()
        ? workers().workers().stream().mapToLong(WorkersOverview.Entry::frameworkBytes).sum()
        : device.overheadBytes();
  }

  @Override
  public ModelSession gated(
      ImportedModel model, long address, @Nullable EphemeralRegion lane, MemoryTarget constants) {
    return gated(model, address, lane, constants, Priority.ONLINE);
  }

  /**
   * {@inheritDoc} In the background those build it that may come to need it. What offline work
   * needs first the active worker is not given: a model that ends the process that builds it is not
   * to end that one.
   */
  @Override
  public ModelSession gated(
      ImportedModel model,
      long address,
      @Nullable EphemeralRegion lane,
      MemoryTarget constants,
      Priority priority) {
    KnownSession known =
        new KnownSession(
            numbers.incrementAndGet(),
            device.slotsAt(address),
            model,
            constants.roomBytes() / processes(),
            lane instanceof SharedLane shared ? shared : null,
            new RepeatedShapes());
    Message.Built built = build(known, priority);
    charge(built.constantBytes(), constants, known);
    sessions.put(known.number(), known);
    background.build(known, settings.crew().offlineApart() && priority == Priority.OFFLINE);
    return new ProcessSession(this, known, model.plan(), built.heldBytes());
  }

  private Message.Built build(KnownSession known, Priority priority) {
    WorkerProcess worker = enter(priority, "");
    try (UnderWay.Ended _ = worker.underWay().begin()) {
      return worker.builds().require(known);
    } catch (OutOfDeviceMemoryException e) {
      throw new OutOfDeviceMemoryException(e.refusedBytes() * processes());
    } finally {
      worker.leave();
    }
  }

  /** Every worker will keep as much, or may. */
  private void charge(long bytes, MemoryTarget constants, KnownSession known) {
    long all = bytes * processes();
    if (all > 0 && constants.allocate(all) == 0) {
      forget(known);
      throw new OutOfDeviceMemoryException(all);
    }
  }

  /**
   * Closes a session in all workers; nothing runs in it. Blocks until they have given back what it
   * took, but for those that stand by and do not come to that.
   */
  void forget(KnownSession known) {
    sessions.remove(known.number());
    background.forget(known.number());
    giveUp(builds -> builds.close(known.number()));
  }

  /**
   * Has a session give up what it can do without, as {@link #forget(KnownSession)} does.
   *
   * @return device memory that a worker holds for it still, at most; empty where none has told
   */
  OptionalLong shrink(KnownSession known) {
    Queue<Long> held = new ConcurrentLinkedQueue<>();
    giveUp(builds -> builds.shrink(known.number()).ifPresent(held::add));
    return held.stream().mapToLong(Long::longValue).max();
  }

  @Override
  public void forget(ImportedModel model) {
    captureLosses.forget(model.plan().structureHash());
    if (!model.plan().inPlace().isEmpty()) {
      tidy();
    }
  }

  @Override
  public void tidy() {
    giveUp(WorkerBuilds::tidy);
  }

  /** A run has needed a session that its worker had not built, and has built it there. */
  void builtForARun(KnownSession known) {
    background.builtForARun(known);
  }

  /** Has workers that stand by do what the active one does again and again. */
  void repeat(KnownSession known, Message.WarmUp run) {
    background.repeat(known, run);
  }

  /**
   * A run's worker cannot be ended: what the run was lent elsewhere than in its lane stays lent
   * until that is gone, which whoever is told has to wait for. With all lanes lost nothing is run
   * meanwhile; nor where workers write to memory that others are lent at any time, once the run's
   * caller has been told, or at once if that may give such memory back.
   */
  WorkerStuckException heldBack(
      WorkerProcess worker, WorkerStuckException reason, boolean writesToDevice) {
    int lanesLost = shared.areWritten() ? settings.lanes() : 1;
    shared.transfers().withhold();
    if (writesToDevice) {
      board().holdBack(worker, lanesLost);
    }
    return new WorkerStuckException(
        String.valueOf(reason.getMessage()),
        reason.blame(),
        () -> {
          if (!writesToDevice) {
            board().holdBack(worker, lanesLost);
          }
          reason.awaitGone();
          shared.transfers().release();
        });
  }

  /** How long it is worth staying awake for a run's end. */
  long awakeNanos() {
    return device.awakeNanos();
  }

  /**
   * Has all workers give something up. Others than the active one may be busy warming up: that ends
   * at its next gate, and nobody waits long for one that does not come there.
   */
  private void giveUp(Consumer<WorkerBuilds> work) {
    WorkerBoard board = board();
    @Nullable WorkerProcess active = board.active().orElse(null);
    List<CompletableFuture<Void>> others =
        board.workers().stream()
            .filter(worker -> !worker.equals(active))
            .map(worker -> beside(() -> giveUp(worker, work)))
            .toList();
    if (active != null) {
      giveUp(active, work);
    }
    awaitAWhile(others);
  }

  private static void giveUp(WorkerProcess worker, Consumer<WorkerBuilds> work) {
    if (worker.enter()) {
      try (UnderWay.Ended _ = worker.underWay().begin()) {
        work.accept(worker.builds());
      } finally {
        worker.leave();
      }
    }
  }

  /** The workers there are. */
  public WorkersOverview workers() {
    WorkersOverview overview = board().overview();
    if (overview.workers().isEmpty()) {
      return overview;
    }
    long share = device.overheadBytes() / overview.workers().size();
    return overview.with(
        overview.workers().stream()
            .map(worker -> worker.on(device.name(), device.isHostMemory() ? own(worker) : share))
            .toList());
  }

  /** What a worker has in memory beside its sessions' constants. */
  private static long own(WorkersOverview.Entry worker) {
    return Math.max(0, worker.memoryBytes() - worker.deviceBytes());
  }

  /** Whether there is a worker of this id. */
  public boolean has(int id) {
    return board().workers().stream().anyMatch(worker -> worker.id() == id);
  }

  /**
   * Replaces a worker without failing a run.
   *
   * @return completes when it is gone, with {@link io.pipelane.config.Status#NOT_FOUND} when there
   *     is none of this id
   */
  public CompletableFuture<Void> recycle(int id) {
    return supervisor.recycle(id);
  }

  /**
   * {@inheritDoc} Workers that stand by and are broken end first, so that none of them takes over;
   * those that work may hang, and are not asked. Where a worker has just been lost, that may be
   * what is reported, and who works since then is asked, too, instead of being ended for it.
   */
  @Override
  public boolean reset(String reason) {
    @Nullable WorkerProcess active = board().active().orElse(null);
    Optional<WorkerProcess> offline = board().offlineAlone();
    // Asked behind that: who has taken over from a worker that is lost is not taken for that one.
    boolean mayBeOver = board().hasLostWithin(LATEST_REPORT);
    awaitAWhile(
        board().standbys().stream()
            .map(worker -> beside(() -> giveUp(worker, WorkerBuilds::check)))
            .toList());
    if (active != null) { // Who has taken over meanwhile has been checked.
      end(active, reason, mayBeOver);
    }
    // Nobody says whose work it was.
    offline.ifPresent(worker -> end(worker, reason, mayBeOver));
    return active != null || offline.isPresent();
  }

  private void end(WorkerProcess worker, String reason, boolean onlyIfBroken) {
    if (onlyIfBroken) {
      CompletableFuture<Void> _ = beside(() -> giveUp(worker, WorkerBuilds::check));
    } else {
      worker.kill(reason);
    }
  }

  /** Does something on a thread of its own. */
  private CompletableFuture<Void> beside(Runnable work) {
    return CompletableFuture.runAsync(work, beside);
  }

  private static void awaitAWhile(List<CompletableFuture<Void>> done) {
    CompletableFuture<Void> all =
        CompletableFuture.allOf(done.toArray(new CompletableFuture<?>[0]));
    try {
      all.get(LONGEST_WAIT.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      LOG.log(Level.DEBUG, "a worker that stands by takes long to give up what it was told to");
    } catch (ExecutionException e) {
      LOG.log(Level.WARNING, "a worker that stands by was not told what to give up", e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** A worker was lost: so may be what it ran on, which the driver may take its time to say. */
  private void checkDeviceBeside() {
    CompletableFuture<Void> _ = beside(this::checkDevice);
  }

  /** Sees whether the device is lost, with all workers; blocks. */
  void checkDevice() {
    device.check();
    if (device.isLost()) {
      supervisor.deviceLost(device.name() + " is lost; restart the server");
    }
  }

  /** {@inheritDoc} Or no worker can be started, for now. */
  @Override
  public boolean isLost() {
    return device.isLost() || board().isHopeless();
  }

  @Override
  public String runtimeVersion() {
    return runtimeVersion;
  }

  @Override
  public void close() {
    supervisor.close();
    background.close();
    beside.shutdown();
    awaitBeside();
  }

  /** Workers have ended, and wait for nothing; a device may not answer that was lost. */
  private void awaitBeside() {
    try {
      if (!beside.awaitTermination(LONGEST_END.toNanos(), TimeUnit.NANOSECONDS)) {
        LOG.log(Level.WARNING, device.name() + " does not say whether it is lost");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
