package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.section.WorkersConfig.SwitchOn;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Lanes that workers which stand by open before they take over. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OpenedAheadTest {
  private static final float[] X = WorkerFixture.random(2, 1);
  private static final int LANE = 0;

  @TempDir Path folder;

  /** A session of a lane, as all are on a GPU. */
  private ModelSession ofTheLane(WorkerFixture workers) throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    return workers.sessions.gated(
        model,
        workers.filled(model).address(),
        workers.region,
        new MemoryTarget.Persistent(workers.constants));
  }

  private static WorkersOverview.Entry awaitWarmedUp(WorkerFixture workers) {
    while (workers.in(WorkerState.STANDBY).filter(each -> each.warmedUp() > 0).isEmpty()) {
      LockSupport.parkNanos(1_000_000);
    }
    return workers.in(WorkerState.STANDBY).orElseThrow();
  }

  /** What a run has only to open, and pin, where nobody has done so before. */
  @ParameterizedTest
  @CsvSource({"FAULT, '', ''", "TENANT, a, b"})
  void standbyThatHasWarmedUp_hasOpenedTheMemoryThatItIsHandedTheLaneWith(
      SwitchOn switchOn, String owner, String next) throws Exception {
    boolean isShared = switchOn == SwitchOn.FAULT;
    try (WorkerFixture workers = new WorkerFixture(new TestWorkers(1).switchOn(switchOn));
        ModelSession session = ofTheLane(workers)) {
      float[] expected = workers.run(session, X, owner);
      workers.awaitStandby(1);
      long standby = workers.in(WorkerState.STANDBY).orElseThrow().pid();
      assertEquals(List.of(), MappedLanes.files(standby, LANE), "nothing is repeated yet");

      assertArrayEquals(expected, workers.run(session, X, owner));
      assertEquals(standby, awaitWarmedUp(workers).pid());
      List<String> ahead = MappedLanes.files(standby, LANE);
      assertEquals(1, ahead.size(), ahead.toString());
      List<String> ofActive = MappedLanes.files(workers.active().pid(), LANE);
      assertEquals(isShared, ofActive.equals(ahead));

      if (isShared) {
        ActiveWorker.kill(workers.sessions);
      }
      assertArrayEquals(expected, workers.run(session, X, next));
      assertEquals(standby, workers.active().pid());
      assertEquals(ahead, MappedLanes.files(standby, LANE));
    }
  }
}
