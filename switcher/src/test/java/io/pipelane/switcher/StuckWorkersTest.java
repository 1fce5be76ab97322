package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.process.Signals;
import io.pipelane.lanes.process.StubbornProcesses;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A worker that the system keeps although it was killed, with a model's run in it. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StuckWorkersTest {
  @TempDir Path folder;

  /** Of a structure of its own, for each number of layers. */
  private ImportedModel chain(String name, int layers) throws Exception {
    return TestImports.of(TestModels.chain(layers, WorkersFixture.WIDTH, 1), name, folder);
  }

  @Test
  void run_inIt_isAnsweredButItsWeightsStayLentUntilItIsGone() throws Exception {
    StubbornProcesses processes = new StubbornProcesses();
    try (WorkersFixture workers =
            new WorkersFixture(
                new TestWorkers(1)
                    .hangTimeout(WorkersFixture.SHORT)
                    .endTimeout(Duration.ofMillis(200))
                    .launcher(processes));
        AutoCloseable _ = processes::letGo) {
      ImportedModel held = chain("held", WorkersFixture.LAYERS);
      ImportedModel other = chain("other", WorkersFixture.LAYERS / 2);
      workers.switcher.register(held);
      workers.switcher.register(other);
      float[] expected = workers.infer(held, WorkersFixture.input(1));
      float[] others = workers.infer(other, WorkersFixture.input(1));
      workers.await(WorkerState.STANDBY, 2);
      Signals.stop(workers.await(WorkerState.ACTIVE, 0).pid());
      Call call = workers.submit(held, WorkersFixture.input(1));
      StatusException error = assertThrows(StatusException.class, call::await);
      assertEquals(Status.UNAVAILABLE, error.status());
      assertTrue(error.toString().contains("still keeps it"), error.toString());
      assertTrue(processes.isOneKept());
      if (!TestDevices.ON_GPU) { // Whose workers write to memory that any run may be lent.
        for (int i = 0; i < 10; i++) {
          assertArrayEquals(others, workers.infer(other, WorkersFixture.input(1)));
        }
        assertTrue(workers.switcher.isUsable());
      }
      CompletableFuture<Void> evicted =
          CompletableFuture.runAsync(() -> workers.switcher.evict(held.version()));
      workers.switcher.verify();
      assertFalse(evicted.isDone(), "its pages are lent to nobody else");
      assertTrue(processes.isOneKept());
      processes.letGo();
      evicted.join();
      assertArrayEquals(expected, workers.infer(held, WorkersFixture.input(1)));
      assertTrue(workers.switcher.quarantine(held.version()).isEmpty());
      assertTrue(workers.switcher.isUsable());
    }
  }
}
