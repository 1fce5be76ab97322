package io.pipelane.lanes.process;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceExport;
import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.lanes.process.WorkerBoard.Post;
import io.pipelane.lanes.process.settings.WorkerSettings;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The supervisor of worker processes (PipeSwitch §4.4). It keeps one worker active, another for
 * offline work where that has one of its own, and others ready to take over. It starts workers,
 * replaces those that are lost, and hands over.
 */
final class WorkerSupervisor implements AutoCloseable {
  /*
   * One thread owns `members` and what is below it; others send it commands and read the board. It
   * never waits for a worker: a thread for each start waits for that, and reports.
   *
   * After each command it arranges things anew. Somebody is active if anybody can be, those that
   * are to be replaced go once there is a successor, and missing ones are started. After a failed
   * start it waits, longer each time. After some of them, while nobody is there, it says that there
   * is no hope for now. For a device that is lost there is none at all, and nobody is started.
   *
   * A standby takes over for either class. Online work comes first: the last that stands by, if any
   * are to, is kept for it. So however often offline work loses its worker, a loss of the active
   * one costs no start. The worker of offline work never becomes the active one: what it runs is
   * not to end online runs.
   */
  private static final System.Logger LOG = System.getLogger(WorkerSupervisor.class.getName());
  private static final Duration LONGEST_END = Duration.ofSeconds(5);
  private static final Duration TICK = Duration.ofSeconds(1);

  private final WorkerSettings settings;
  private final DeviceExport export;
  private final IntSupplier ids;
  private final Consumer<WorkerProcess> onStandby;
  private final Runnable onLoss;
  private final ThreadFactory startThreads;
  private final BlockingQueue<WorkerCommand> commands = new LinkedBlockingQueue<>();
  private final WorkerBoard board;
  private final CompletableFuture<String> runtimeVersion = new CompletableFuture<>();
  private final Thread thread;

  private final List<WorkerMember> members = new ArrayList<>();
  private final Map<WorkerState, Vacancy> vacancies = new EnumMap<>(WorkerState.class);
  private final StartPauses pauses = new StartPauses(System.nanoTime());
  private final Departures departures;
  private String deviceLoss = "";
  private boolean closing;
  private volatile boolean ended;
  private long closingSince;

  /**
   * A post that nobody has, or nobody who may stay.
   *
   * @param reason what became of the last one
   */
  private record Vacancy(String reason, long sinceNanos) {}

  /**
   * Nothing is started yet.
   *
   * @param ids a number for each worker
   * @param onStandby told of each worker that has become ready; returns at once
   * @param onLoss told when one has ended that was not to; returns at once
   * @param startThreads of threads that each wait for a start
   */
  WorkerSupervisor(
      WorkerSettings settings,
      DeviceExport export,
      IntSupplier ids,
      Consumer<WorkerProcess> onStandby,
      Runnable onLoss,
      ThreadFactory startThreads) {
    this.startThreads = startThreads;
    this.ids = ids;
    this.settings = settings;
    this.export = export;
    this.onStandby = onStandby;
    this.onLoss = onLoss;
    this.board =
        new WorkerBoard(settings.lanes(), worker -> commands.add(new WorkerCommand.Switch(worker)));
    this.departures = new Departures(settings.times().grace());
    this.thread = Thread.ofPlatform().daemon().name("worker-supervisor").unstarted(this::work);
  }

  /**
   * Starts the workers; blocks until the first is ready.
   *
   * @return ONNX Runtime's version there
   * @throws StatusException when none becomes ready; everything has ended then
   */
  String start() {
    thread.start();
    try {
      return runtimeVersion.get(settings.times().start().toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      close();
      throw new StatusException(Status.CANCELLED, "interrupted while workers were started", e);
    } catch (ExecutionException | TimeoutException e) {
      close();
      String reason = board.lastLoss().isEmpty() ? "none was ready in time" : board.lastLoss();
      throw new StatusException(Status.UNAVAILABLE, "no worker can be started: " + reason, e);
    }
  }

  /** Who is active, and who is there. */
  WorkerBoard board() {
    return board;
  }

  /**
   * Replaces a worker, the active one once another can take over; what it runs is finished.
   *
   * @return completes when it is gone; with {@link Status#NOT_FOUND} when there is no such worker,
   *     with {@link Status#UNAVAILABLE} when none could take over within the time for a start
   */
  CompletableFuture<Void> recycle(int id) {
    CompletableFuture<Void> done = new CompletableFuture<>();
    commands.add(new WorkerCommand.Recycle(id, done));
    if (ended) {
      refuseAll();
    }
    return done;
  }

  /** Has nobody started any more, as the device is lost; runs that wait for a worker fail. */
  void deviceLost(String reason) {
    commands.add(new WorkerCommand.Lost(reason));
  }

  private void work() {
    while (!closing || !members.isEmpty()) {
      try {
        WorkerCommand command = commands.poll(pauseNanos(), TimeUnit.NANOSECONDS);
        if (command != null) {
          carryOut(command);
        }
        arrange();
      } catch (InterruptedException e) {
        // Nobody has a reason to interrupt this thread.
      } catch (RuntimeException | Error e) { // There is no other thread to do this.
        LOG.log(Level.ERROR, "supervising workers failed", e);
      }
    }
    ended = true;
    refuseAll();
  }

  /** Tells who has asked for something that nobody will do it any more; on any thread. */
  private void refuseAll() {
    for (var command = commands.poll(); command != null; command = commands.poll()) {
      if (command instanceof WorkerCommand.Recycle(int id, CompletableFuture<Void> done)) {
        boolean _ = done.completeExceptionally(WorkerMember.noSuchWorker(id));
      }
    }
  }

  /** Until something is to be done without a command. */
  private long pauseNanos() {
    long now = System.nanoTime();
    long untilStart = !closing && mayStart() ? pauses.leftNanos(now) : Long.MAX_VALUE;
    return Math.clamp(Math.min(untilStart, departures.leftNanos(now)), 0, TICK.toNanos());
  }

  private void carryOut(WorkerCommand command) {
    switch (command) {
      case WorkerCommand.Ready(WorkerMember member, String version) -> ready(member, version);
      case WorkerCommand.Stuck(WorkerProcess worker) -> member(worker).ifPresent(this::stuck);
      case WorkerCommand.Gone(WorkerProcess worker) -> member(worker).ifPresent(this::gone);
      case WorkerCommand.Switch(WorkerProcess worker) ->
          member(worker).filter(WorkerMember::isSettled).ifPresent(this::leave);
      case WorkerCommand.Recycle(int id, CompletableFuture<Void> done) ->
          members.stream()
              .filter(member -> member.worker.id() == id)
              .findFirst()
              .ifPresentOrElse(
                  member -> recycle(member, done),
                  () -> done.completeExceptionally(WorkerMember.noSuchWorker(id)));
      case WorkerCommand.Lost(String reason) -> deviceLoss = reason;
      case WorkerCommand.Close() -> {
        closing = true;
        closingSince = System.nanoTime();
      }
    }
  }

  private Optional<WorkerMember> member(WorkerProcess worker) {
    return members.stream().filter(member -> member.worker == worker).findFirst();
  }

  private void recycle(WorkerMember member, CompletableFuture<Void> done) {
    if (member.isSettled()) {
      vacate(member, "worker %d is replaced".formatted(member.worker.id()), System.nanoTime());
    }
    member.replace(done, System.nanoTime());
  }

  /** It finishes what it runs, beside its successor, and ends; its memory was one owner's. */
  private void leave(WorkerMember member) {
    vacate(member, "worker %d belonged to others".formatted(member.worker.id()), System.nanoTime());
    departures.relieve(member, WorkerProcess::retire, System.nanoTime());
    startAnother();
  }

  /** For somebody who has gone; that no more could be started beside the last one says nothing. */
  private void startAnother() {
    if (!isSomebodyThere()) {
      pauses.beginAnew(System.nanoTime());
    } else if (members.stream().anyMatch(member -> member.is(WorkerState.STANDBY))) {
      pauses.handedOver(System.nanoTime());
    }
  }

  private void vacate(WorkerMember member, String reason, long sinceNanos) {
    vacancies.put(member.state(), new Vacancy(reason, sinceNanos));
  }

  private void ready(WorkerMember member, String version) {
    pauses.succeeded();
    if (member.is(WorkerState.STARTING)) {
      member.become(WorkerState.STANDBY);
      publish();
      onStandby.accept(member.worker);
    }
    boolean _ = runtimeVersion.complete(version);
  }

  /** Others do what it did; what it was lent stays lent until it is gone. */
  private void stuck(WorkerMember member) {
    member.stuck();
    if (!member.is(WorkerState.RETIRING)) {
      lost(member, System.nanoTime());
    }
  }

  private void gone(WorkerMember member) {
    members.remove(member);
    departures.gone(member);
    member.gone();
    if (!member.is(WorkerState.RETIRING)) {
      lost(member, member.worker.goneNanos());
    }
  }

  /** Nobody has told it to go. */
  private void lost(WorkerMember member, long sinceNanos) {
    String loss = member.worker.description();
    noteLoss(loss);
    onLoss.run();
    if (member.isSettled()) {
      vacate(member, loss, sinceNanos);
    }
    boolean wasStarting = member.is(WorkerState.STARTING);
    member.become(WorkerState.RETIRING);
    if (wasStarting) {
      startFailed(new StatusException(Status.UNAVAILABLE, loss));
    } else {
      startAnother();
    }
  }

  private void noteLoss(String loss) {
    LOG.log(Level.WARNING, loss);
    board.noteLoss(loss);
  }

  private void startFailed(Throwable reason) {
    pauses.failed(System.nanoTime());
    boolean _ = runtimeVersion.completeExceptionally(reason);
  }

  private void arrange() {
    if (closing) {
      members.forEach(departures::retire);
      long sinceNanos = System.nanoTime() - closingSince;
      if (sinceNanos > LONGEST_END.toNanos()) {
        members.forEach(member -> member.worker.kill("it did not end when it was told to"));
      }
      if (sinceNanos > LONGEST_END.plus(settings.times().end()).toNanos()) {
        members.forEach(
            member -> LOG.log(Level.ERROR, "{0}, but is still there", member.worker.description()));
        members.forEach(WorkerMember::stuck);
        members.clear();
      }
    } else {
      handOver();
      departures.endDue(System.nanoTime());
      while (mayStart() && pauses.leftNanos(System.nanoTime()) <= 0) {
        startOne();
      }
    }
    publish();
  }

  /** Gives a standby each post that nobody has, or somebody who is to be replaced. */
  private void handOver() {
    fill(WorkerState.ACTIVE, 0);
    if (settings.crew().offlineApart()) {
      fill(WorkerState.OFFLINE, Math.min(1, settings.crew().standbys()));
    }
    publish(); // Nobody is sent to those that go now.
    members.stream()
        .filter(WorkerMember::isToBeReplaced)
        .filter(member -> !member.state().isPost() || isFilled(member.state()))
        .forEach(this::letGo);
    members.stream()
        .filter(member -> member.isToBeReplaced() && !member.is(WorkerState.RETIRING))
        .filter(
            member -> member.recyclingNanos(System.nanoTime()) > settings.times().start().toNanos())
        .forEach(this::keep);
  }

  /** Nobody has come to take its place in all the time that a start may take. */
  private void keep(WorkerMember member) {
    vacancies.remove(member.state());
    String why = deviceLoss.isEmpty() ? board.lastLoss() : deviceLoss;
    member.stayAfterAll(
        new StatusException(
            Status.UNAVAILABLE,
            "worker %d stays, as no other could take over within workers.start-timeout, %s%s"
                .formatted(
                    member.worker.id(),
                    settings.times().start(),
                    why.isEmpty() ? "" : "; the last loss: " + why)));
  }

  /** Gives a post to a standby, unless too few would be left. */
  private void fill(WorkerState post, int leftAtLeast) {
    List<WorkerMember> standbys =
        members.stream()
            .filter(member -> member.stays() && member.is(WorkerState.STANDBY))
            .toList();
    if (!isFilled(post) && standbys.size() > leftAtLeast) {
      standbys.stream()
          .max(
              Comparator.comparingInt((WorkerMember member) -> member.worker.builds().count())
                  .thenComparingInt(member -> member.worker.builds().warmedUp()))
          .ifPresent(member -> takeOver(member, post));
    }
  }

  private boolean isFilled(WorkerState post) {
    return members.stream().anyMatch(member -> member.is(post) && member.isSettled());
  }

  private void takeOver(WorkerMember successor, WorkerState post) {
    if (post == WorkerState.OFFLINE) {
      successor.worker.offlineAlone();
    }
    successor.become(post);
    if (post == WorkerState.OFFLINE) {
      successor.yields(settings.crew().offlinePriority());
    }
    publish();
    Vacancy filled = vacancies.remove(post);
    if (filled != null) {
      pauses.handedOver(System.nanoTime());
      long pause = System.nanoTime() - filled.sinceNanos();
      if (post == WorkerState.ACTIVE) {
        board.noteTakeOver(pause);
      }
      LOG.log(
          Level.INFO,
          "worker %d took over after %.1f ms: %s"
              .formatted(successor.worker.id(), pause / 1e6, filled.reason()));
    }
  }

  /** It has a successor, where it needs one. */
  private void letGo(WorkerMember member) {
    if (member.state().isPost()) {
      departures.relieve(member, WorkerProcess::retireAtGates, System.nanoTime());
    } else if (!member.is(WorkerState.RETIRING)) {
      departures.retire(member);
    }
  }

  /** While nobody is there one is started alone: it is ready sooner so. */
  private boolean mayStart() {
    boolean isAlone = !isSomebodyThere();
    long staying =
        members.stream()
            .filter(WorkerMember::stays)
            .filter(member -> !isAlone || !member.is(WorkerState.OFFLINE))
            .count();
    return deviceLoss.isEmpty() && staying < (isAlone ? 1 : settings.crew().size());
  }

  /** For online work. */
  private boolean isSomebodyThere() {
    return members.stream()
        .anyMatch(member -> member.is(WorkerState.ACTIVE) || member.is(WorkerState.STANDBY));
  }

  private String despair(boolean isThere) {
    if (!deviceLoss.isEmpty() || isThere || !pauses.areHopeless()) {
      return deviceLoss;
    }
    return "none could be started, %d times in a row: %s"
        .formatted(pauses.failures(), board.lastLoss());
  }

  private void startOne() {
    try {
      WorkerProcess worker =
          WorkerProcess.start(
              ids.getAsInt(),
              settings,
              export,
              stuck -> commands.add(new WorkerCommand.Stuck(stuck)),
              gone -> commands.add(new WorkerCommand.Gone(gone)));
      WorkerMember member = new WorkerMember(worker);
      members.add(member);
      board.noteStart();
      awaitStart(member);
    } catch (RuntimeException | Error e) { // No thread may be had, for one.
      noteLoss(String.valueOf(e.getMessage()));
      startFailed(e);
    }
  }

  /** Has a thread wait for it; without one it would be starting for ever, and is ended. */
  private void awaitStart(WorkerMember member) {
    WorkerProcess worker = member.worker;
    try {
      Thread starting = startThreads.newThread(() -> report(member));
      starting.setName("worker-" + worker.id() + "-start");
      starting.start();
    } catch (RuntimeException | Error e) {
      member.become(WorkerState.RETIRING);
      worker.kill("nobody can wait for its start: " + e.getMessage());
      worker.leave();
      throw e;
    }
  }

  private void report(WorkerMember member) {
    try {
      commands.add(new WorkerCommand.Ready(member, member.worker.awaitReady()));
    } catch (WorkerLostException | WorkerStuckException e) {
      // Its end, or that it does not end, is reported as such.
    }
  }

  private void publish() {
    Post online = post(WorkerState.ACTIVE, isSomebodyThere());
    Post offline =
        settings.crew().offlineApart()
            ? post(WorkerState.OFFLINE, isFilled(WorkerState.OFFLINE))
            : online;
    board.publish(members, online, offline, closing);
  }

  private Post post(WorkerState state, boolean isThere) {
    @Nullable WorkerProcess worker =
        members.stream()
            .filter(member -> member.is(state))
            .max(Comparator.comparing(WorkerMember::stays))
            .map(member -> member.worker)
            .orElse(null);
    return new Post(worker, despair(isThere));
  }

  /** Ends all workers; no run is under way. */
  @Override
  public void close() {
    commands.add(new WorkerCommand.Close());
    ThreadEnd.await(thread);
  }
}
