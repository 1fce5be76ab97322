package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.process.worker.FaultyWorker;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two workers that stand by build beside each other. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StandbyBuildsTest {
  private static final int STANDBYS = 2;
  private static final float[] X = WorkerFixture.random(2, 1);

  @TempDir Path folder;
  private final ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().pid());
  private final WorkerFixture workers =
      new WorkerFixture(new TestWorkers(STANDBYS).program(FaultyWorker.class));

  @AfterEach
  void nothingIsLeft() throws IOException {
    workers.close();
    faults.close();
  }

  private List<WorkersOverview.Entry> standbys() {
    return workers.sessions.workers().workers().stream()
        .filter(worker -> worker.state() == WorkerState.STANDBY)
        .toList();
  }

  private void awaitStandbys(int count, int built) {
    while (standbys().stream().filter(it -> it.sessions() >= built).count() < count) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  private void replaceLatestStandby() {
    WorkersOverview.Entry latest =
        standbys().stream().max(Comparator.comparingInt(WorkersOverview.Entry::id)).orElseThrow();
    Signals.send("KILL", latest.pid());
    while (standbys().stream().anyMatch(it -> it.id() == latest.id())) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void build_oneStandbyHangs_theOtherBuildsMeanwhile(boolean oneWasReplaced) throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      awaitStandbys(STANDBYS, 1);
      if (oneWasReplaced) {
        replaceLatestStandby();
        awaitStandbys(STANDBYS, 1);
      }
      float[] _ = workers.hangInAWarmUp(faults, session, X);
      try (ModelSession _ = workers.gated(model, workers.filled(model))) {
        awaitStandbys(1, 2);
        assertEquals(
            oneWasReplaced ? 1 : 0,
            workers.sessions.workers().lost(),
            "nobody else was ended for it");
      }
    }
  }

  /** They were ended before they had begun with it. */
  @Test
  void build_standbysAreLostForOthers_theNextBuildItStill() throws Exception {
    awaitStandbys(STANDBYS, 0);
    List<WorkersOverview.Entry> first = standbys();
    for (WorkersOverview.Entry standby : first) {
      Signals.stop(standby.pid());
    }
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (ModelSession _ = workers.gated(model, workers.filled(model))) {
      awaitStandbys(STANDBYS, 1); // Which are being built.
      for (WorkersOverview.Entry standby : first) {
        Signals.send("KILL", standby.pid());
      }
      while (workers.sessions.workers().lost() < STANDBYS) {
        LockSupport.parkNanos(1_000_000);
      }
      awaitStandbys(STANDBYS, 1);
    }
  }
}
