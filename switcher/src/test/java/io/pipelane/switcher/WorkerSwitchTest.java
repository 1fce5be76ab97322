package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.section.WorkersConfig.SwitchOn;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Workers that are left when another tenant's or another model's turn has come. */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WorkerSwitchTest {
  /** Half of them of workers that have just taken over. */
  private static final int KILLS = Boolean.getBoolean("pipelane.long") ? 20 : 4;

  @TempDir Path folder;

  private ImportedModel model(String name, String tenant, long seed) throws IOException {
    return TestImports.of(
            TestModels.chain(WorkersFixture.LAYERS, WorkersFixture.WIDTH, seed), name, folder)
        .ofTenant(tenant);
  }

  private static WorkersFixture workers(SwitchOn switchOn) {
    return new WorkersFixture(new TestWorkers(2).switchOn(switchOn));
  }

  private static int active(WorkersFixture workers) {
    return workers.await(WorkerState.ACTIVE, 0).id();
  }

  private static void awaitGone(WorkersFixture workers, int id) {
    while (workers.workers.workers().workers().stream().anyMatch(each -> each.id() == id)) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  @Test
  void tenant_anotherTenantsModelRuns_standbyTakesOverAndTheOldWorkerEnds() throws Exception {
    try (WorkersFixture workers = workers(SwitchOn.TENANT)) {
      ImportedModel first = model("first", "a", 1);
      ImportedModel second = model("second", "a", 2);
      ImportedModel other = model("other", "b", 3);
      for (ImportedModel each : List.of(first, second, other)) {
        workers.switcher.register(each);
      }
      float[] expected = workers.infer(first, WorkersFixture.input(1));
      int before = active(workers);
      workers.infer(second, WorkersFixture.input(2));
      assertEquals(before, active(workers), "the same tenant's");
      workers.infer(other, WorkersFixture.input(3));
      assertNotEquals(before, active(workers), "another tenant's");
      awaitGone(workers, before);
      assertArrayEquals(expected, workers.infer(first, WorkersFixture.input(1)));
      assertEquals(0, workers.workers.workers().lost());
      assertTrue(workers.workers.workers().lastPauseNanos() > 0);
    }
  }

  /** More switches than workers stand by: the others wait for one that is started. */
  @Test
  void model_twoClientsOfTwoModels_everyAnswerIsRightAndNoneFails() throws Exception {
    try (WorkersFixture workers = workers(SwitchOn.MODEL);
        ExecutorService threads = Executors.newFixedThreadPool(2)) {
      List<ImportedModel> models = List.of(model("m0", "", 1), model("m1", "", 2));
      List<float[]> expected = new ArrayList<>();
      for (ImportedModel each : models) {
        workers.switcher.register(each);
        expected.add(workers.infer(each, WorkersFixture.input(1)));
      }
      List<Future<?>> clients = new ArrayList<>();
      for (int client = 0; client < 2; client++) {
        int begin = client;
        clients.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < 3; i++) {
                    int at = (begin + i) % 2;
                    assertArrayEquals(
                        expected.get(at), workers.infer(models.get(at), WorkersFixture.input(1)));
                  }
                }));
      }
      for (Future<?> client : clients) {
        client.get();
      }
      assertEquals(0, workers.workers.workers().lost());
      assertTrue(workers.workers.workers().started() >= 3);
    }
  }

  /**
   * The worker that has just taken over, and the one that is on its way out, are killed in turn.
   */
  @Test
  void model_workersAreKilledWhileTheyChange_everyAnswerIsRight() throws Exception {
    Duration grace = Duration.ofSeconds(1); // So that those on their way out are still there.
    try (WorkersFixture workers =
        new WorkersFixture(new TestWorkers(2).switchOn(SwitchOn.MODEL).grace(grace))) {
      List<ImportedModel> models = List.of(model("m0", "", 1), model("m1", "", 2));
      List<float[]> expected = new ArrayList<>();
      for (ImportedModel each : models) {
        workers.switcher.register(each);
        expected.add(workers.infer(each, WorkersFixture.input(1)));
      }
      for (int i = 0; i < KILLS; i++) {
        workers.await(WorkerState.STANDBY, 1);
        int before = active(workers);
        Call call = workers.submit(models.get(i % 2), WorkersFixture.input(1));
        while (active(workers) == before) {
          Thread.onSpinWait();
        }
        WorkerState killed = i % 4 < 2 ? WorkerState.ACTIVE : WorkerState.RETIRING;
        // One that retires may be gone by itself.
        ProcessHandle.of(workers.in(killed).orElseThrow().pid())
            .ifPresent(ProcessHandle::destroyForcibly);
        assertArrayEquals(expected.get(i % 2), call.await());
        workers.switcher.verify();
      }
      assertTrue(models.stream().allMatch(m -> workers.switcher.quarantine(m.version()).isEmpty()));
    }
  }
}
