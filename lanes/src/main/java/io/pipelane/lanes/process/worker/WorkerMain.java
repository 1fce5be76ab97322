package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.ProtocolException;
import io.pipelane.lanes.process.channel.WorkerArea;
import io.pipelane.lanes.process.channel.WorkerArguments;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;

/** The worker process: a thread for each channel does what is said there, until the server ends. */
public final class WorkerMain {
  /** The exit code of a worker that was told what it does not understand. */
  public static final int MISUNDERSTOOD = 4;

  /** The exit code of a worker that its device does no more for. */
  public static final int DEVICE_LOST = 5;

  private static final int FAILED = 1;

  /** Of all processes the system is to end one of these first when it has no memory left. */
  private static final String OUT_OF_MEMORY_SCORE = "500";

  private WorkerMain() {}

  /** Runs a worker; see {@link WorkerArguments}. */
  public static void main(String[] arguments) throws InterruptedException {
    run(
        arguments,
        ServiceLoader.load(WorkerSteps.class).findFirst().orElse(WorkerSteps.UNOBSERVED));
  }

  /** The same, telling how far it comes. */
  static void run(String[] arguments, WorkerSteps steps) throws InterruptedException {
    ProcessExit.prepare();
    ServerDeath.continueAtIt();
    WorkerEnd ending = new WorkerEnd(steps);
    Thread.ofPlatform().daemon().name("server-watch").start(ending);
    try {
      List<Thread> threads = start(WorkerArguments.of(arguments), ending, steps);
      for (Thread thread : threads) {
        thread.join();
      }
    } catch (RuntimeException | Error e) {
      e.printStackTrace(); // Ends up in the server's log.
      ProcessExit.now(FAILED);
    }
  }

  private static List<Thread> start(
      WorkerArguments arguments, WorkerEnd ending, WorkerSteps steps) {
    steps.reached(WorkerSteps.Step.OPENING, "");
    long server = arguments.export().process();
    WorkerArea area = WorkerArea.open(server, arguments.area(), arguments.channels());
    try {
      area.check();
    } catch (ProtocolException e) {
      area.sayHello(WorkerArea.REFUSED, String.valueOf(e.getMessage()));
      throw e;
    }
    offerToEndFirst();
    EndSignals.tell(
        signal -> {
          if (area.isOfflineAlone()) {
            ending.told(signal);
          }
        });
    WorkerDevice device =
        WorkerDevice.open(
            arguments.export(), arguments.library(), arguments.threadsPerRun(), steps);
    ending.opened(device);
    WorkerSessions sessions = new WorkerSessions(server, device, steps);
    WorkerLanes lanes = new WorkerLanes(device);
    WarmUps warmUps = new WarmUps(device, sessions, lanes, steps);
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < arguments.channels(); i++) {
      boolean isLane = i < arguments.lanes();
      ChannelEnd end = area.workerEnd(i);
      ChannelLoop loop =
          isLane
              ? ChannelLoop.ofLane(
                  new LaneRuns(i, end, device, sessions, lanes, steps),
                  device.awakeNanos(),
                  end,
                  sessions,
                  warmUps)
              : ChannelLoop.ofControl(end, sessions, warmUps);
      ending.started(loop);
      String name = (isLane ? "lane-" : "control-") + i;
      threads.add(Thread.ofPlatform().name(name).start(loop));
    }
    steps.reached(WorkerSteps.Step.HELLO, "");
    area.sayHello(WorkerArea.READY, device.sessions().runtimeVersion());
    return threads;
  }

  /**
   * Does what a worker is of no use without. One that cannot ends, as another may be able to: what
   * it was asked for is not to blame.
   */
  static void orEnd(Runnable work) {
    try {
      work.run();
    } catch (RuntimeException e) {
      unfit(e);
    }
  }

  /** Ends the process for want of memory. */
  static void unfit(Exception reason) {
    System.err.println("a worker ends for want of memory: " + reason);
    ProcessExit.now(WorkerArea.UNFIT);
  }

  private static void offerToEndFirst() {
    try {
      Files.writeString(Path.of("/proc/self/oom_score_adj"), OUT_OF_MEMORY_SCORE);
    } catch (IOException e) {
      System.err.println("the system will not prefer to end this worker: " + e);
    }
  }
}
