package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.pipelane.config.section.WorkersConfig.SwitchOn;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A lane's memory where each worker belongs to one owner: no worker maps what another one's has.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LanesOfOwnersTest {
  private static final float[] X = WorkerFixture.random(2, 1);

  @TempDir Path folder;

  /** A run of somebody's. */
  private static final class OwnedRun extends FloatInvocation {
    private final String owner;
    private final Priority priority;

    OwnedRun(String owner, Priority priority) {
      super(X, Shape.of(2, TestModels.WIDTH));
      this.owner = owner;
      this.priority = priority;
    }

    @Override
    public String owner() {
      return owner;
    }

    @Override
    public Priority priority() {
      return priority;
    }
  }

  private static float[] run(
      ModelSession session, EphemeralRegion lane, String owner, Priority priority) {
    return run(session, lane, owner, priority, WeightArrivals.PRESENT);
  }

  private static float[] run(
      ModelSession session,
      EphemeralRegion lane,
      String owner,
      Priority priority,
      WeightArrivals weights) {
    OwnedRun run = new OwnedRun(owner, priority);
    session.run(run, lane, bytes -> false, weights);
    return run.output();
  }

  private static WorkerFixture workers(SwitchOn switchOn, boolean offlineApart) {
    return new WorkerFixture(
        new TestWorkers(1).lanes(2).switchOn(switchOn).offlineApart(offlineApart));
  }

  private ModelSession session(WorkerFixture workers) throws IOException {
    var model = TestImports.of(TestModels.branches(1), "branches", folder);
    return workers.gated(model, workers.filled(model));
  }

  @Test
  void nextOwnerRunsWhileTheLastOnesWorkerIsStillThere_theyMapDifferentMemory() throws Exception {
    assumeFalse(TestDevices.ON_GPU, "a session belongs to one lane there");
    try (WorkerFixture workers = workers(SwitchOn.MODEL, false);
        EphemeralRegion second = workers.device.ephemeral(16 * WorkerFixture.MIB);
        ModelSession session = session(workers);
        ExecutorService threads = Executors.newSingleThreadExecutor()) {
      second.limit(workers.region.limitBytes());
      float[] expected = run(session, workers.region, "a", Priority.ONLINE);
      long old = workers.active().pid();
      List<String> before = MappedLanes.files(old, 0);
      assertEquals(1, before.size(), before.toString());

      StoppedWeights stopped = new StoppedWeights();
      Future<float[]> stays =
          threads.submit(() -> run(session, second, "a", Priority.ONLINE, stopped));
      StopWord word = stopped.word.get();
      assertArrayEquals(expected, run(session, workers.region, "b", Priority.ONLINE));
      long next = workers.active().pid();
      assertNotEquals(old, next);
      assertEquals(1, MappedLanes.files(next, 0).size());
      assertNotEquals(before, MappedLanes.files(next, 0));
      assertEquals(
          before, MappedLanes.files(old, 0), "the old worker is there, and has what it had");
      assertEquals(
          0, MappedLanes.residentKibibytes(old, before.getFirst()), "of which nothing is left");

      word.allow(1);
      assertArrayEquals(expected, stays.get());
      assertArrayEquals(expected, run(session, workers.region, "a", Priority.ONLINE));
    }
  }

  /** Two workers in turn in one lane: each finds its inputs where it has mapped the lane. */
  @ParameterizedTest
  @ValueSource(ints = {1, 5})
  void onlineAndOfflineWorkersTakeTurnsInALane_everyAnswerIsRight(int turns) throws Exception {
    try (WorkerFixture workers = workers(SwitchOn.TENANT, true);
        ModelSession session = session(workers)) {
      float[] expected = run(session, workers.region, "a", Priority.ONLINE);
      long online = workers.active().pid();
      for (int turn = 0; turn < turns; turn++) {
        assertArrayEquals(expected, run(session, workers.region, "b", Priority.OFFLINE));
        assertArrayEquals(expected, run(session, workers.region, "a", Priority.ONLINE));
      }
      long offline = workers.await(WorkerState.OFFLINE, 1).pid();
      assertEquals(online, workers.active().pid());
      assertEquals(1, MappedLanes.files(online, 0).size());
      assertEquals(1, MappedLanes.files(offline, 0).size());
      assertNotEquals(MappedLanes.files(online, 0), MappedLanes.files(offline, 0));
    }
  }

  @Test
  void workersThatServeAll_mapTheSame() throws Exception {
    try (WorkerFixture workers = workers(SwitchOn.FAULT, false);
        ModelSession session = session(workers)) {
      float[] expected = run(session, workers.region, "", Priority.ONLINE);
      List<String> before = MappedLanes.files(workers.active().pid(), 0);
      ActiveWorker.kill(workers.sessions);
      assertArrayEquals(expected, run(session, workers.region, "", Priority.ONLINE));
      assertEquals(before, MappedLanes.files(workers.active().pid(), 0));
    }
  }
}
