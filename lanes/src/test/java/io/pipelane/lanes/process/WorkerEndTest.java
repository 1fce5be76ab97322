package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.process.ArmedFaults.Fault;
import io.pipelane.lanes.process.worker.FaultyWorker;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A worker whose input ends, as it does when its server dies. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WorkerEndTest {
  private static final float[] X = WorkerFixture.random(2, 1);

  @TempDir Path folder;
  private final ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().pid());
  private final List<Process> started = new CopyOnWriteArrayList<>();
  private final WorkerFixture workers =
      new WorkerFixture(new TestWorkers(0).program(FaultyWorker.class).launcher(this::start));

  private Process start(ProcessBuilder program) throws IOException {
    Process process = program.start();
    started.add(process);
    return process;
  }

  @AfterEach
  void nothingIsLeft() throws IOException {
    workers.close();
    faults.close();
  }

  /** A fault at the step at which the device is given back shows that it is. */
  @Test
  void run_standsAtItsGate_endsThereAndTheDeviceIsGivenBack() throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, X);
      StoppedWeights stopped = new StoppedWeights();
      CompletableFuture<float[]> answer =
          CompletableFuture.supplyAsync(() -> workers.run(session, X, bytes -> false, stopped));
      StopWord word = stopped.word.get();
      while (!word.stands()) {
        Thread.onSpinWait();
      }
      faults.arm(Step.RELEASING, Fault.EXIT);
      started.getFirst().getOutputStream().close();
      Throwable lost = assertThrows(ExecutionException.class, answer::get).getCause();
      assertInstanceOf(WorkerLostException.class, lost);
      assertTrue(String.valueOf(lost.getMessage()).contains("code 7"), lost::toString);
      assertArrayEquals(expected, workers.run(session, X), "by the next worker");
    }
  }
}
