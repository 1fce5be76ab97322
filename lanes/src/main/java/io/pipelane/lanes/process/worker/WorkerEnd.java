package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.process.channel.WorkerArea;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The end of this process: when the server closes its standard input, or is gone, or when a worker
 * of offline work is told to end. What runs ends at its next gate, if it comes there, and the
 * device is given back before (MuxFlow §4.2). Safe for any thread.
 */
final class WorkerEnd implements Runnable {
  /*
   * A server that lives closes the input of a worker only when nobody uses it. Recycling has its
   * runs finished or ended at a gate before, and a change of owners has them finished. So what runs
   * here has lost its server, and nobody waits for it; or the process is told to end, and the
   * server has its runs made again elsewhere once it is gone. Such a server may tell a run to stop
   * or to go on meanwhile, so runs are told to end until they have.
   *
   * Two kinds of run never end: one whose weights do not come any more, and one that was given to a
   * device as a whole and has not ended there. The device's driver takes it away with the process.
   */
  private static final long LONGEST_RUN_NANOS = 500_000_000;

  private static final Duration LONGEST_RELEASE = Duration.ofSeconds(2);
  private static final long PAUSE_NANOS = 2_000_000;

  private final List<ChannelLoop> loops = new CopyOnWriteArrayList<>();
  private final WorkerSteps steps;
  private volatile @Nullable WorkerDevice device;

  WorkerEnd(WorkerSteps steps) {
    this.steps = steps;
  }

  /** What is given back at the end. */
  void opened(WorkerDevice opened) {
    device = opened;
  }

  /** What is ended before. */
  void started(ChannelLoop loop) {
    loops.add(loop);
  }

  /** Waits for the end of standard input; returns never. */
  @Override
  public void run() {
    try {
      System.in.transferTo(OutputStream.nullOutputStream());
    } catch (IOException e) {
      // The same as its end.
    }
    end(0);
  }

  /** Ends the process as somebody else than its server wants it; returns never. */
  void told(String signal) {
    System.err.println("told to end by " + signal); // Ends up in the server's log.
    end(WorkerArea.TOLD_TO_END);
  }

  private synchronized void end(int code) {
    WorkerDevice opened = device;
    loops.forEach(ChannelLoop::end);
    if (opened != null && isIdle()) {
      steps.reached(WorkerSteps.Step.RELEASING, "");
      release(opened);
    }
    ProcessExit.now(code);
  }

  private boolean isIdle() {
    long begin = System.nanoTime();
    while (loops.stream().anyMatch(ChannelLoop::isBusy)) {
      if (System.nanoTime() - begin > LONGEST_RUN_NANOS) {
        return false;
      }
      LockSupport.parkNanos(PAUSE_NANOS);
      loops.forEach(ChannelLoop::end);
    }
    return true;
  }

  private static void release(WorkerDevice opened) {
    Thread thread = Thread.ofPlatform().daemon().name("release").start(opened::release);
    try {
      boolean _ = thread.join(LONGEST_RELEASE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
