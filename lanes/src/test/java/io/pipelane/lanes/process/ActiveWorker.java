package io.pipelane.lanes.process;

import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** The worker that runs what is asked, and its end. */
public final class ActiveWorker {
  private ActiveWorker() {}

  private static Stream<WorkersOverview.Entry> in(
      ProcessSessionFactory workers, WorkerState state) {
    return workers.workers().workers().stream().filter(worker -> worker.state() == state);
  }

  /** It, while there is one. */
  public static WorkersOverview.Entry of(ProcessSessionFactory workers) {
    return in(workers, WorkerState.ACTIVE).findFirst().orElseThrow();
  }

  /** Kills it once another one stands by, and waits until its loss has been noticed. */
  public static void kill(ProcessSessionFactory workers) {
    while (in(workers, WorkerState.STANDBY).findAny().isEmpty()) {
      LockSupport.parkNanos(1_000_000);
    }
    long lost = workers.workers().lost();
    Signals.send("KILL", of(workers).pid());
    while (workers.workers().lost() == lost) {
      LockSupport.parkNanos(1_000_000);
    }
  }
}
