package io.pipelane.lanes.process;

import io.pipelane.config.StatusException;
import io.pipelane.config.WorkersConfig.SwitchOn;
import io.pipelane.lanes.DeviceExport;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.SharedDevice;
import io.pipelane.lanes.SharedLane;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Set;
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
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Builds sessions in worker processes: at once in the one that needs them, in the background in
 * others.
 */
public final class ProcessSessionFactory implements SessionFactory {
  private static final System.Logger LOG = System.getLogger(ProcessSessionFactory.class.getName());

  private static final int LOSSES_IN_BACKGROUND = 2;

  /** How long workers that stand by, and may hang, keep anybody waiting. */
  private static final Duration LONGEST_WAIT = Duration.ofMillis(250);

  private static final Duration LONGEST_END = Duration.ofSeconds(5);

  private final SharedDevice device;
  private final SharedPlaces shared;
  private final WorkerSettings settings;
  private final Map<Long, KnownSession> sessions = new ConcurrentHashMap<>();
  private final Map<Long, Integer> lostInBackground = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();

  private final BackgroundThreads background;

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
    this(device, device.export(), MemorySegment.NULL, settings);
  }

  /**
   * Starts workers; blocks until the first is ready.
   *
   * @param export what they open the device by
   * @param transferMemory what lies here, workers read in place
   * @throws StatusException when none becomes ready
   */
  public ProcessSessionFactory(
      SharedDevice device,
      DeviceExport export,
      MemorySegment transferMemory,
      WorkerSettings settings) {
    this(device, export, transferMemory, settings, new AtomicInteger()::incrementAndGet);
  }

  /**
   * The same.
   *
   * @param ids numbers that no other worker has
   */
  public ProcessSessionFactory(
      SharedDevice device,
      DeviceExport export,
      MemorySegment transferMemory,
      WorkerSettings settings,
      IntSupplier ids) {
    this.device = device;
    this.shared = new SharedPlaces(transferMemory, sharedStates(device, settings));
    this.settings = settings;
    this.background = new BackgroundThreads(settings.buildsAtOnce());
    this.supervisor =
        new WorkerSupervisor(
            settings,
            export,
            ids,
            this::catchUp,
            this::checkDeviceBeside,
            Thread.ofPlatform().daemon().factory());
    this.runtimeVersion = supervisor.start();
  }

  /**
   * Where workers read and write states in place. Those in the host's memory can be had only all
   * together, so workers that are not to see each other's are sent what they need.
   */
  private static DeviceStates sharedStates(SharedDevice device, WorkerSettings settings) {
    boolean apart = settings.switchOn() != SwitchOn.FAULT && !device.states().areOnDevice();
    return apart ? DeviceStates.ON_HOST : device.states();
  }

  WorkerSettings settings() {
    return settings;
  }

  /** What lies here, workers read and write in place. */
  SharedPlaces shared() {
    return shared;
  }

  /** Enters the worker of a class of work for a run, see {@link WorkerBoard#enter}. */
  WorkerProcess enter(Priority priority, String owner) {
    return supervisor.board().enter(priority, settings.startTimeout(), owner);
  }

  @Override
  public boolean runsOfflineApart() {
    return settings.offlineApart();
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
  public long frameworkBytes() {
    return device.overheadBytes();
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
            constants.roomBytes() / settings.workers(),
            lane instanceof SharedLane shared ? shared.host().lane() : Message.NO_LANE,
            lane == null ? 0 : lane.maximumBytes(),
            new RepeatedShapes());
    Message.Built built = build(known, priority);
    charge(built.constantBytes(), constants, known);
    sessions.put(known.number(), known);
    WorkerBoard board = supervisor.board();
    @Nullable WorkerProcess spared =
        settings.offlineApart() && priority == Priority.OFFLINE
            ? board.active().orElse(null)
            : null;
    board.workers().stream()
        .filter(worker -> !worker.equals(spared))
        .forEach(worker -> later(worker, () -> buildInBackground(worker, known)));
    return new ProcessSession(this, known, model.plan(), built.heldBytes());
  }

  private Message.Built build(KnownSession known, Priority priority) {
    WorkerProcess worker = enter(priority, "");
    try (UnderWay.Ended _ = worker.underWay().begin()) {
      return worker.builds().require(known);
    } catch (OutOfDeviceMemoryException e) {
      throw new OutOfDeviceMemoryException(e.refusedBytes() * settings.workers());
    } finally {
      worker.leave();
    }
  }

  /** Every worker will keep as much, or may. */
  private void charge(long bytes, MemoryTarget constants, KnownSession known) {
    long all = bytes * settings.workers();
    if (all > 0 && constants.allocate(all) == 0) {
      forget(known);
      throw new OutOfDeviceMemoryException(all);
    }
  }

  /**
   * A worker that is ready builds and does what the others have, the most popular first; of those
   * that have not run what was built first, as that was in the order of popularity.
   */
  private void catchUp(WorkerProcess worker) {
    Map<KnownSession, Long> runs = new HashMap<>(); // Which go on meanwhile.
    sessions.values().forEach(known -> runs.put(known, known.shapes().runs()));
    List<KnownSession> all =
        runs.entrySet().stream()
            .sorted(
                Map.Entry.<KnownSession, Long>comparingByValue()
                    .reversed()
                    .thenComparingLong(entry -> entry.getKey().number()))
            .map(Map.Entry::getKey)
            .toList();
    all.forEach(known -> later(worker, () -> buildInBackground(worker, known)));
    all.forEach(known -> later(worker, () -> warmUp(worker, known, known.shapes().all())));
  }

  /** Has a worker do something once it has done all that it was told before. */
  private void later(WorkerProcess worker, Runnable work) {
    background.execute(worker.id(), this::idsBesideActive, work);
  }

  private Set<Integer> idsBesideActive() {
    WorkerBoard board = supervisor.board();
    @Nullable WorkerProcess active = board.active().orElse(null);
    return board.workers().stream()
        .filter(worker -> !worker.equals(active))
        .map(WorkerProcess::id)
        .collect(Collectors.toSet());
  }

  /** Has workers that stand by do what the active one does again and again. */
  void repeat(KnownSession known, Message.WarmUp run) {
    for (WorkerProcess worker : supervisor.board().standbys()) {
      later(worker, () -> warmUp(worker, known, List.of(run)));
    }
  }

  /**
   * What cannot be done is left to the first request; a worker that has taken over is let alone.
   */
  private void warmUp(WorkerProcess worker, KnownSession known, List<Message.WarmUp> runs) {
    for (Message.WarmUp run : runs) {
      if (!supervisor.board().standbys().contains(worker) || !worker.enter()) {
        return;
      }
      try (UnderWay.Ended _ = worker.underWay().begin()) {
        if (sessions.containsKey(known.number())
            && worker.builds().has(known)
            && worker.builds().warmUp(run)) {
          known.shapes().warmedUp(run);
        }
      } catch (WorkerLostException e) {
        if (e.blame() != WorkerLostException.Blame.OTHERS) {
          known.shapes().costAWorker(run);
        }
      } catch (StatusException e) {
        LOG.log(levelOf(e), "worker " + worker.id() + " has not warmed a session up", e);
      } finally {
        worker.leave();
      }
    }
  }

  /** That something else went first, or the session is gone, is nothing to tell. */
  private static Level levelOf(StatusException notWarmedUp) {
    return switch (notWarmedUp.status()) {
      case UNAVAILABLE, NOT_FOUND -> Level.DEBUG;
      default -> Level.WARNING;
    };
  }

  /** What cannot be built, or costs a worker again and again, is left for when it is needed. */
  private void buildInBackground(WorkerProcess worker, KnownSession known) {
    boolean wanted =
        sessions.containsKey(known.number())
            && lostInBackground.getOrDefault(known.number(), 0) < LOSSES_IN_BACKGROUND;
    if (!wanted || !worker.enter()) {
      return;
    }
    try (UnderWay.Ended _ = worker.underWay().begin()) {
      Message.Built _ = worker.builds().requireInBackground(known);
      lostInBackground.remove(known.number());
      if (!sessions.containsKey(known.number())) {
        worker.builds().close(known.number());
      }
    } catch (WorkerLostException e) {
      lostInBackground.merge(known.number(), 1, Integer::sum);
    } catch (StatusException | OutOfDeviceMemoryException e) {
      LOG.log(Level.WARNING, "worker " + worker.id() + " has not built a session", e);
    } finally {
      worker.leave();
    }
  }

  /**
   * Closes a session in all workers; nothing runs in it. Blocks until they have given back what it
   * took, but for those that stand by and do not come to that.
   */
  void forget(KnownSession known) {
    sessions.remove(known.number());
    lostInBackground.remove(known.number());
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
    if (!model.plan().inPlace().isEmpty()) {
      tidy();
    }
  }

  @Override
  public void tidy() {
    giveUp(WorkerBuilds::tidy);
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
    WorkerBoard board = supervisor.board();
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
    WorkersOverview overview = supervisor.board().overview();
    if (overview.workers().isEmpty()) {
      return overview;
    }
    long share = device.overheadBytes() / overview.workers().size();
    return overview.with(
        overview.workers().stream().map(worker -> worker.on(device.name(), share)).toList());
  }

  /** Whether there is a worker of this id. */
  public boolean has(int id) {
    return supervisor.board().workers().stream().anyMatch(worker -> worker.id() == id);
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
   * those that work may hang, and are not asked.
   */
  @Override
  public boolean reset(String reason) {
    @Nullable WorkerProcess active = supervisor.board().active().orElse(null);
    Optional<WorkerProcess> offline = supervisor.board().offlineAlone();
    awaitAWhile(
        supervisor.board().standbys().stream()
            .map(worker -> beside(() -> giveUp(worker, WorkerBuilds::check)))
            .toList());
    if (active != null) { // Who has taken over meanwhile has been checked.
      active.kill(reason);
    }
    offline.ifPresent(worker -> worker.kill(reason)); // Nobody says whose work it was.
    return active != null || offline.isPresent();
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
    return device.isLost() || supervisor.board().isHopeless();
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
