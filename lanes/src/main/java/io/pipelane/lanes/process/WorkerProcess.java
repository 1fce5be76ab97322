package io.pipelane.lanes.process;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceExport;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.ProtocolException;
import io.pipelane.lanes.process.channel.WorkerArea;
import io.pipelane.lanes.process.channel.WorkerArguments;
import io.pipelane.modelstore.ChildJvm;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One worker process and the memory shared with it, from its start until it is gone and nobody uses
 * it any more. Safe for any thread.
 */
final class WorkerProcess {
  /*
   * Users are threads that may touch the shared memory. It is unmapped by the last of them once the
   * process is gone; `users`, `leaving` and `unmapped` are guarded by the monitor. Nobody waits
   * under it.
   */

  /**
   * Channels to build sessions through: one in the background, the others for what is needed, of
   * which those that build ahead leave one.
   */
  private static final int CONTROLS = 2 + SessionFactory.MOST_BUILT_AHEAD;

  /** Signals that ask the server's process group to end are for the server to act on. */
  private static final String SHELL = "trap '' INT TERM HUP; ulimit -c 0; exec \"$@\"";

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
  private final WorkerSettings settings;
  private volatile @Nullable String verdict;
  private volatile long goneNanos;
  private String owner = NOBODY;
  private int users = 1; // who has started it, until it is ready
  private boolean leaving;
  private boolean unmapped;

  private WorkerProcess(int id, WorkerSettings settings, WorkerArea area, Process process) {
    this.id = id;
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
    this.builds = new WorkerBuilds(this, controls, settings.startTimeout());
  }

  /**
   * Starts a process; it is not ready yet.
   *
   * @param onExit called once it is gone, on a thread of its own
   * @throws StatusException when it cannot be started
   */
  static WorkerProcess start(
      int id, WorkerSettings settings, DeviceExport export, Consumer<WorkerProcess> onExit) {
    WorkerArea area = WorkerArea.create("pipelane-worker-" + id, settings.lanes() + CONTROLS);
    WorkerArguments arguments =
        new WorkerArguments(
            export,
            area.descriptor(),
            settings.lanes(),
            CONTROLS,
            settings.threadsPerRun(),
            settings.library());
    @Nullable Process process = null;
    boolean started = false;
    try {
      process =
          ChildJvm.program(
                  SHELL,
                  List.of(),
                  List.of("-Xmx" + settings.heap().bytes()),
                  settings.program(),
                  arguments.toList())
              .start();
      WorkerProcess worker = new WorkerProcess(id, settings, area, process);
      worker.output.read(process.getInputStream());
      // Not on the thread that completes Process.onExit, whose stack is too small for calls of C.
      Thread.ofPlatform()
          .daemon()
          .name("worker-" + id + "-exit")
          .start(() -> worker.awaitExit(onExit));
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
   */
  String awaitReady() {
    try {
      return awaitHello();
    } finally {
      leave();
    }
  }

  private String awaitHello() {
    long end = System.nanoTime() + settings.startTimeout().toNanos();
    var hello = area.hello();
    while (hello.value() == 0 && !isGone()) {
      if (!hello.awaitChange(0, 10_000_000) && System.nanoTime() > end) {
        kill("it was not ready after " + settings.startTimeout());
      }
    }
    if (hello.value() == WorkerArea.READY) {
      return area.helloText();
    }
    if (hello.value() == WorkerArea.REFUSED) {
      kill("it was refused: " + area.helloText());
    }
    throw lost(true);
  }

  /** Begins to use the shared memory; false when the process is gone or about to go. */
  boolean enter() {
    return enter(NOBODY);
  }

  /**
   * The same for a run; false as well when an earlier run was somebody else's.
   *
   * @param runOwner whose run it is, and the process from now on; nobody's may be empty
   */
  synchronized boolean enter(String runOwner) {
    if (leaving || isGone() || belongsToOther(runOwner)) {
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

  /** Lets the process end once nobody uses it; {@link #enter} answers false from now on. */
  synchronized void retire() {
    leaving = true;
    settle();
  }

  private void settle() {
    if (users > 0) {
      return;
    }
    if (isGone() && !unmapped) {
      unmapped = true;
      area.close();
    } else if (leaving && !isGone()) {
      endInput();
    }
  }

  /** The worker ends when its standard input does. */
  private void endInput() {
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

  /** Ends the process at once; the first reason counts. */
  void kill(String reason) {
    synchronized (this) {
      if (verdict == null && !isGone()) {
        verdict = reason;
      }
    }
    process.destroyForcibly();
  }

  private void awaitExit(Consumer<WorkerProcess> onExit) {
    while (process.isAlive()) {
      try {
        process.waitFor();
      } catch (InterruptedException e) {
        // Nobody has a reason to interrupt this thread.
      }
    }
    underWay.processEnded();
    goneNanos = System.nanoTime();
    gone.countDown();
    synchronized (this) {
      if (!unmapped) {
        lanes.forEach(ChannelEnd::wake);
        builds.wake();
      }
      settle();
    }
    onExit.accept(this);
  }

  /** Whether the process has ended and been reaped: nothing of it is left. */
  boolean isGone() {
    return gone.getCount() == 0;
  }

  /** When the process was found to have ended, by the system's clock. */
  long goneNanos() {
    return goneNanos;
  }

  /**
   * Blocks until the process is gone, then says why; it is ending already.
   *
   * @param reached whether the process can have begun with what the calling thread wanted
   */
  WorkerLostException lost(boolean reached) {
    boolean interrupted = false;
    while (!isGone()) {
      try {
        gone.await();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return new WorkerLostException(description(), underWay.blame(reached));
  }

  /** Ends a process that is not to be trusted, and blocks until it is gone. */
  WorkerLostException violated(ProtocolException what) {
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
      return "was ended: " + known;
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
