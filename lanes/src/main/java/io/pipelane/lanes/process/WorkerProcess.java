package io.pipelane.lanes.process;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceExport;
import io.pipelane.lanes.HostRegion;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.ProtocolException;
import io.pipelane.lanes.process.channel.WorkerArea;
import io.pipelane.lanes.process.channel.WorkerArguments;
import io.pipelane.lanes.process.settings.WorkerProgram;
import io.pipelane.lanes.process.settings.WorkerSettings;
import io.pipelane.modelstore.ChildJvm;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One worker process and the memory shared with it, from its start until it is gone and nobody uses
 * it any more. Safe for any thread.
 */
final class WorkerProcess {
  /*
   * Users are threads that may touch the shared memory. The last of them unmaps it once the process
   * is gone. `users`, `leaving`, `mayEnd` and `unmapped` are guarded by the monitor, under which
   * nobody waits.
   *
   * One thread waits for the process's end, and sees to it that it comes. It kills a process that
   * does not leave when it is told to, and says of one that is killed and stays that it is stuck.
   * Nobody has anything more done in a stuck process, as if it were gone; only what it was lent
   * stays lent.
   */

  /**
   * Channels to build sessions through: one in the background, the others for what is needed, of
   * which those that build ahead leave one.
   */
  private static final int CONTROLS = 2 + SessionFactory.MOST_BUILT_AHEAD;

  /**
   * Signals that ask the server's process group to end are for the server to act on; a worker of
   * offline work takes them back.
   */
  private static final String SHELL = "trap '' INT TERM HUP; ulimit -c 0; exec \"$@\"";

  /** As the server's own code is, which its start script says more of. */
  private static final String COMPILED_EARLY = "-XX:CompileThresholdScaling=0.25";

  private static final long LONGEST_TICK_NANOS = 1_000_000_000;
  private static final int SIGNALLED = 128;
  private static final String NOBODY = "";

  private final int id;
  private final WorkerArea area;
  private final Process process;
  private final WorkerOutput output;
  private final List<ChannelEnd> lanes = new ArrayList<>();
  private final WorkerBuilds builds;
  private final UnderWay underWay = new UnderWay();
  private final CountDownLatch gone = new CountDownLatch(1);

  /** Open once it is gone, or stuck. */
  private final CountDownLatch over = new CountDownLatch(1);

  private final WorkerSettings settings;
  private final boolean computesBehindGates;
  private volatile boolean endsRuns;
  private volatile boolean isOfflineAlone;
  private volatile @Nullable String verdict;
  private volatile @Nullable Long killedNanos;
  private volatile @Nullable Long dismissedNanos;
  private volatile long goneNanos;
  private String owner = NOBODY;
  private int users = 1; // who has started it, until it is ready
  private boolean leaving;
  private boolean mayEnd;
  private boolean unmapped;

  private WorkerProcess(
      int id,
      WorkerSettings settings,
      boolean computesBehindGates,
      WorkerArea area,
      Process process) {
    this.id = id;
    this.computesBehindGates = computesBehindGates;
    this.settings = settings;
    this.area = area;
    this.process = process;
    this.output = new WorkerOutput("worker " + id);
    for (int i = 0; i < settings.lanes(); i++) {
      lanes.add(area.serverEnd(i));
    }
    List<ChannelEnd> controls = new ArrayList<>();
    for (int i = 0; i < CONTROLS; i++) {
      controls.add(area.serverEnd(settings.lanes() + i));
    }
    this.builds = new WorkerBuilds(this, controls, settings.times().start());
  }

  /**
   * Starts a process; it is not ready yet.
   *
   * @param onStuck called, on a thread of its own, once it has been killed and does not end
   * @param onExit called once it is gone, on the same thread
   * @throws StatusException when it cannot be started
   */
  static WorkerProcess start(
      int id,
      WorkerSettings settings,
      DeviceExport export,
      Consumer<WorkerProcess> onStuck,
      Consumer<WorkerProcess> onExit) {
    WorkerArea area = WorkerArea.create("pipelane-worker-" + id, settings.lanes() + CONTROLS);
    WorkerProgram program = settings.program();
    WorkerArguments arguments =
        new WorkerArguments(
            export,
            area.descriptor(),
            settings.lanes(),
            CONTROLS,
            program.threadsPerRun(),
            program.library());
    @Nullable Process process = null;
    boolean started = false;
    try {
      process =
          program
              .launcher()
              .start(
                  ChildJvm.program(
                      SHELL,
                      List.of(),
                      List.of("-Xmx" + program.heap().bytes(), COMPILED_EARLY),
                      program.main(),
                      arguments.toList()));
      WorkerProcess worker =
          new WorkerProcess(id, settings, export.computesBehindGates(), area, process);
      worker.output.read(process.getInputStream());
      // Not on the thread that completes Process.onExit, whose stack is too small for calls of C.
      Thread.ofPlatform()
          .daemon()
          .name("worker-" + id + "-exit")
          .start(() -> worker.awaitExit(onStuck, onExit));
      started = true;
      return worker;
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, "a worker process cannot be started: " + e.getMessage(), e);
    } finally {
      if (!started) {
        if (process != null) {
          process.destroyForcibly();
        }
        area.close();
      }
    }
  }

  int id() {
    return id;
  }

  long pid() {
    return process.pid();
  }

  /** The processor time that the process has used, as the system counts it. */
  long processorNanos() {
    return ProcessorTime.ofProcess(process.pid());
  }

  /** Whom a lane's host memory is for while the worker has the lane: it alone, or all workers. */
  long laneUser() {
    return settings.isMemoryApart() ? id : HostRegion.EVERY_WORKER;
  }

  /** The channel of a lane; its one user at a time is the thread that has the lane. */
  ChannelEnd lane(int index) {
    return lanes.get(index);
  }

  /** The sessions that are built there. */
  WorkerBuilds builds() {
    return builds;
  }

  /**
   * Waits until the worker says that it is ready; called once, by who has started it.
   *
   * @return ONNX Runtime's version there
   * @throws WorkerLostException when it does not get that far
   * @throws WorkerStuckException when it does not end then
   */
  String awaitReady() {
    try {
      return awaitHello();
    } finally {
      leave();
    }
  }

  private String awaitHello() {
    long end = System.nanoTime() + settings.times().start().toNanos();
    var hello = area.hello();
    while (hello.value() == WorkerArea.SILENT && !isOver()) {
      if (!hello.awaitChange(WorkerArea.SILENT, 10_000_000) && System.nanoTime() > end) {
        kill("it was not ready after " + settings.times().start());
      }
    }
    int said = hello.value();
    switch (said) {
      case WorkerArea.READY -> {
        return area.helloText();
      }
      case WorkerArea.REFUSED -> kill("it was refused: " + area.helloText());
      case WorkerArea.SILENT -> {} // It is over.
      default -> throw violated(new ProtocolException("its hello is " + said));
    }
    throw lost(true);
  }

  /** Begins to use the shared memory; false when the process is gone, about to go, or killed. */
  boolean enter() {
    return enter(NOBODY);
  }

  /**
   * The same for a run; false as well when an earlier run was somebody else's.
   *
   * @param runOwner whose run it is, and the process from now on; nobody's may be empty
   */
  synchronized boolean enter(String runOwner) {
    if (leaving || killedNanos != null || isGone() || belongsToOther(runOwner)) {
      return false;
    }
    if (owner.isEmpty()) {
      owner = runOwner;
    }
    users++;
    return true;
  }

  /** Whether somebody else's runs have left something there. */
  synchronized boolean belongsToOther(String runOwner) {
    return !runOwner.isEmpty() && !owner.isEmpty() && !owner.equals(runOwner);
  }

  /** Ends what {@link #enter} began. */
  synchronized void leave() {
    users--;
    settle();
  }

  /** Nobody begins to use it from now on: {@link #enter} answers false. */
  synchronized void relieve() {
    leaving = true;
  }

  /** The same, and the process ends once nobody uses it. */
  synchronized void retire() {
    leaving = true;
    mayEnd = true;
    settle();
  }

  /** The same, and its runs end at their next gate, to begin anew in another process. */
  synchronized void retireAtGates() {
    endsRuns = true;
    if (!unmapped) {
      lanes.forEach(lane -> lane.go().end());
    }
    retire();
  }

  /** It runs offline work from now on, and nothing else: signals may end it. */
  synchronized void offlineAlone() {
    isOfflineAlone = true;
    if (!unmapped) {
      area.setOfflineAlone();
    }
  }

  /** Whether its runs end at their next gate: they are somebody else's by then. */
  boolean endsRuns() {
    return endsRuns;
  }

  /** Whether what is said on a channel computes nothing, as its run stands at a gate. */
  boolean standsAside(ChannelEnd end) {
    return !computesBehindGates && end.go().stands();
  }

  private void settle() {
    if (users > 0) {
      return;
    }
    if (isGone() && !unmapped) {
      unmapped = true;
      area.close();
    } else if (mayEnd && !isGone()) {
      endInput();
    }
  }

  /** The worker ends when its standard input does. */
  private void endInput() {
    dismissedNanos = dismissedNanos == null ? Long.valueOf(System.nanoTime()) : dismissedNanos;
    try {
      process.getOutputStream().close();
    } catch (IOException e) {
      kill("it cannot be told to end: " + e.getMessage());
    }
  }

  /** Runs and buildings that are under way there; of threads that have entered. */
  UnderWay underWay() {
    return underWay;
  }

  /** Ends the process for what the calling thread has it do. */
  void killForWork(String reason) {
    underWay.accuse();
    kill(reason);
  }

  /** How long a run may take from one gate to the next, where nothing is known of it. */
  Duration hangTimeout() {
    return settings.times().hang();
  }

  /** Ends the process as it takes no message, whatever it was told. */
  void killAsDeaf(Duration left) {
    underWay.accuseNobody();
    kill("it hangs, not having taken what it was told for " + left);
  }

  /**
   * Ends the process as what the calling thread has it do does not get on.
   *
   * @param othersNanos what has not got on since then, either, may be why
   * @param isBegun whether the process has begun with what the calling thread waits for; that is
   *     not why otherwise
   */
  void killForHang(Duration patience, long othersNanos, boolean isBegun) {
    underWay.accuseStandingSince(othersNanos, isBegun);
    kill(
        isBegun
            ? "it hangs, not having got on for " + patience
            : "it hangs, not having begun what it was told for " + patience);
  }

  /** Ends the process at once; the first reason counts. */
  void kill(String reason) {
    synchronized (this) {
      if (killedNanos == null && !isGone()) {
        verdict = reason;
        killedNanos = System.nanoTime();
      }
    }
    process.destroyForcibly();
  }

  private void awaitExit(Consumer<WorkerProcess> onStuck, Consumer<WorkerProcess> onExit) {
    long tick = Math.clamp(settings.times().end().toNanos() / 4, 1, LONGEST_TICK_NANOS);
    while (!hasExitedIn(tick)) {
      if (hasPassedSince(killedNanos) && !isOver()) {
        endWaits();
        onStuck.accept(this);
      } else if (hasPassedSince(dismissedNanos) && killedNanos == null) {
        kill("it did not end when it was told to");
      }
    }
    goneNanos = System.nanoTime();
    if (process.exitValue() == WorkerArea.UNFIT) {
      underWay.lackedMemory();
    } else if (isOfflineAlone && process.exitValue() == WorkerArea.TOLD_TO_END) {
      underWay.accuseNobody();
    }
    output.awaitEnd();
    gone.countDown();
    endWaits();
    onExit.accept(this);
  }

  private boolean hasExitedIn(long nanos) {
    try {
      return process.waitFor(nanos, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      return !process.isAlive(); // Nobody has a reason to interrupt this thread.
    }
  }

  private boolean hasPassedSince(@Nullable Long nanos) {
    return nanos != null && System.nanoTime() - nanos > settings.times().end().toNanos();
  }

  /** Has those who wait for the process go on. */
  private void endWaits() {
    underWay.processEnded();
    over.countDown();
    synchronized (this) {
      if (!unmapped) {
        lanes.forEach(ChannelEnd::wake);
        builds.wake();
      }
      settle();
    }
  }

  /** Whether the process has ended and been reaped: nothing of it is left. */
  boolean isGone() {
    return gone.getCount() == 0;
  }

  /** When the process was found to have ended, by the system's clock. */
  long goneNanos() {
    return goneNanos;
  }

  /** Whether nothing more will come of it: it is gone, or stuck. */
  boolean isOver() {
    return over.getCount() == 0;
  }

  /**
   * Blocks until the process is gone, or has turned out to be stuck, then says why; it is ending
   * already.
   *
   * @param reached whether the process can have begun with what the calling thread wanted
   * @return {@link WorkerLostException} where it is gone, otherwise {@link WorkerStuckException}
   */
  RuntimeException lost(boolean reached) {
    await(over);
    WorkerLostException.Blame blame = underWay.blame(reached);
    return isGone()
        ? new WorkerLostException(description(), blame)
        : new WorkerStuckException(description(), blame, this::awaitGone);
  }

  /** Blocks until the process is gone, however long that takes. */
  void awaitGone() {
    await(gone);
  }

  private static void await(CountDownLatch latch) {
    boolean interrupted = false;
    while (latch.getCount() > 0) {
      try {
        latch.await();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ends a process that is not to be trusted, and answers as {@link #lost} does. */
  RuntimeException violated(ProtocolException what) {
    killForWork("it does not keep to the protocol: " + what.getMessage());
    return lost(true);
  }

  /** What became of it, in words. */
  String description() {
    return "worker %d (pid %d) %s".formatted(id, pid(), reason());
  }

  /** Why the process is gone, or about to go. */
  String reason() {
    String known = verdict;
    if (known != null) {
      boolean isStuck = isOver() && !isGone();
      return "was ended: " + known + (isStuck ? "; but the system still keeps it" : "");
    }
    if (process.isAlive()) {
      return "runs";
    }
    int code = process.exitValue();
    String how = code > SIGNALLED ? "signal " + (code - SIGNALLED) : "code " + code;
    String last = output.lastLine();
    return "ended with " + how + (last.isEmpty() ? "" : ": " + last);
  }
}
