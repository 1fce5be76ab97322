package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.process.ArmedFaults;
import io.pipelane.lanes.process.ArmedFaults.Fault;
import io.pipelane.lanes.process.channel.GarbledArea;
import io.pipelane.lanes.process.channel.WorkerArguments;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.runtime.NativeFunction;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** A worker process that fails where its server's tests want it to. */
public final class FaultyWorker {
  private static final int SIGKILL = 9;

  private FaultyWorker() {}

  /** Runs a worker. */
  public static void main(String[] arguments) throws InterruptedException {
    ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().parent().orElseThrow().pid());
    WorkerMain.run(arguments, (step, structure) -> reached(faults, step, structure, arguments));
  }

  private static void reached(
      ArmedFaults faults, Step step, String structure, String... arguments) {
    faults.take(step, structure).ifPresent(fault -> commit(fault, arguments));
  }

  private static void commit(Fault fault, String... arguments) {
    switch (fault) {
      case ABORT -> abort();
      case KILL -> kill();
      case EXIT -> Runtime.getRuntime().halt(7);
      case HANG -> hang();
      case GARBAGE -> {
        garble(WorkerArguments.of(arguments));
        hang();
      }
      case OUT_OF_MEMORY -> fillHeap();
      case DEVICE_ERROR -> FaultyKernels.launchIllegal();
      case DEVICE_HANG -> FaultyKernels.launchEndless();
    }
  }

  /** The way in which native code ends a process that finds itself broken. */
  private static void abort() {
    long _ = NativeFunction.of("abort").call(0, 0, 0);
  }

  private static void kill() {
    long _ = NativeFunction.of("kill").call(ProcessHandle.current().pid(), SIGKILL, 0);
  }

  private static void garble(WorkerArguments arguments) {
    GarbledArea.fill(arguments.export().process(), arguments.area(), arguments.channels());
  }

  private static void hang() {
    while (true) {
      try {
        new CountDownLatch(1).await();
      } catch (InterruptedException e) {
        // Nothing ends this.
      }
    }
  }

  private static void fillHeap() {
    List<long[]> kept = new ArrayList<>();
    while (kept.size() < Integer.MAX_VALUE) {
      kept.add(new long[1 << 20]);
    }
  }
}
