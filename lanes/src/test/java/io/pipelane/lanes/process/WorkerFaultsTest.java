package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.process.channel.GarbledArea;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Worker processes that do what they should not. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WorkerFaultsTest {
  private static final float[] X = WorkerFixture.random(2, 1);

  @TempDir Path folder;
  private final WorkerFixture workers = new WorkerFixture(new TestWorkers(1));

  @AfterEach
  void nothingIsLeft() throws IOException {
    workers.close();
    assertEquals(List.of(), workers.sessions.workers().workers());
    assertEquals(List.of(), SharedAreas.descriptors("/memfd:pipelane-worker-"));
  }

  private ImportedModel branches() throws Exception {
    return TestImports.of(TestModels.branches(1), "branches", folder);
  }

  /** Overwrites what a worker says in its lane. */
  private static void fillWithGarbage(int worker) throws IOException {
    long self = ProcessHandle.current().pid();
    List<Path> areas = SharedAreas.descriptors("/memfd:pipelane-worker-" + worker + " ");
    assertEquals(1, areas.size(), "areas of worker " + worker);
    int descriptor = Integer.parseInt(String.valueOf(areas.getFirst().getFileName()));
    GarbledArea.fill(self, descriptor, 1);
  }

  @Test
  void run_workerThatAnswersGarbage_endsItAndTheNextRunIsRight() throws Exception {
    try (ModelSession session = workers.gated(branches(), workers.filled(branches()))) {
      float[] expected = workers.run(session, X);
      workers.awaitStandby(1);
      WorkersOverview.Entry active = workers.active();
      Signals.stop(active.pid());
      CompletableFuture<float[]> run = CompletableFuture.supplyAsync(() -> workers.run(session, X));
      fillWithGarbage(active.id());
      assertLost(
          assertThrows(CompletionException.class, run::join), "does not keep to the protocol");
      assertArrayEquals(expected, workers.run(session, X));
      assertEquals(1, workers.sessions.workers().lost());
    }
  }

  @Test
  void run_workerIsKilled_saysHowAndTheNextRunIsRight() throws Exception {
    try (ModelSession session = workers.gated(branches(), workers.filled(branches()))) {
      float[] expected = workers.run(session, X);
      workers.awaitStandby(1);
      long pid = workers.active().pid();
      Signals.stop(pid);
      CompletableFuture<float[]> run = CompletableFuture.supplyAsync(() -> workers.run(session, X));
      Signals.send("KILL", pid);
      assertRetriable(run, expected);
      assertArrayEquals(expected, workers.run(session, X));
      workers.awaitStandby(1);
    }
  }

  /** Lost, or right where it began after the worker's end. */
  private static void assertRetriable(CompletableFuture<float[]> run, float[] expected) {
    try {
      assertArrayEquals(expected, run.join());
    } catch (CompletionException e) {
      assertLost(e, "signal 9");
    }
  }

  private static void assertLost(CompletionException error, String why) {
    String reason = String.valueOf(error.getCause());
    assertTrue(error.getCause() instanceof WorkerLostException, reason);
    assertTrue(reason.contains(why), reason);
  }
}
