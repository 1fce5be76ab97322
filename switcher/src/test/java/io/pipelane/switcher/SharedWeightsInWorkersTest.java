package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.SharedDevice;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.process.ProcessSessionFactory;
import io.pipelane.lanes.process.Signals;
import io.pipelane.lanes.process.WorkerState;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Versions that hold pages together, read by worker processes. */
class SharedWeightsInWorkersTest extends SharedWeightsContract {
  private static final AtomicReference<ProcessSessionFactory> WORKERS = new AtomicReference<>();

  SharedWeightsInWorkersTest() {
    super(
        settings ->
            TestedSwitchers.alone(
                TestDevices.openForWorkers(WEIGHTS, PAGE),
                (device, memory) -> {
                  WORKERS.set(
                      TestDevices.workers(
                          (SharedDevice) device, new TestWorkers(1).lanes(2 * LANES)));
                  return WORKERS.get();
                },
                settings,
                ReadWeights::of));
  }

  private static long awaitPid(WorkerState state) {
    while (true) {
      for (var worker : WORKERS.get().workers().workers()) {
        if (worker.state() == state) {
          return worker.pid();
        }
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  @Test
  void workerThatIsKilled_theNextOneReadsTheSamePages() throws Exception {
    long moved = bringThreeVersionsIn();
    long _ = awaitPid(WorkerState.STANDBY);
    Signals.send("KILL", awaitPid(WorkerState.ACTIVE));
    while (WORKERS.get().workers().lost() < 1) {
      LockSupport.parkNanos(1_000_000);
    }
    long before = switcher().transfers().bytesLoaded();
    requireAnswersInTurns();
    assertEquals(before, switcher().transfers().bytesLoaded(), "of " + moved);
  }
}
