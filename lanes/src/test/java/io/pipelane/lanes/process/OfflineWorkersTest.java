package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.lanes.process.channel.WorkerArea;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Offline work in a worker process of its own, with one that stands by. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OfflineWorkersTest {
  @TempDir Path folder;

  private final WorkerFixture workers = new WorkerFixture(new TestWorkers(1).offlineApart(true));

  @AfterEach
  void nothingIsLeft() {
    workers.close();
  }

  private float[] runOffline(ModelSession session, float... x) {
    FloatInvocation invocation =
        new FloatInvocation(x, Shape.of(x.length / TestModels.WIDTH, TestModels.WIDTH)) {
          @Override
          public Priority priority() {
            return Priority.OFFLINE;
          }
        };
    session.run(invocation, workers.region, bytes -> false, WeightArrivals.PRESENT);
    return invocation.output();
  }

  private ModelSession gatedOffline(ImportedModel model) throws Exception {
    return workers.sessions.gated(
        model,
        workers.filled(model).address(),
        workers.sessions.boundToLane() ? workers.region : null,
        new MemoryTarget.Persistent(workers.constants),
        Priority.OFFLINE);
  }

  private long standbys() {
    return workers.sessions.workers().workers().stream()
        .filter(worker -> worker.state() == WorkerState.STANDBY)
        .count();
  }

  private void awaitLosses(long count) {
    while (workers.sessions.workers().lost() < count) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  @Test
  void sessionOfOfflineWork_isNotBuiltInTheActiveWorkerUntilItRunsThere() throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    float[] x = WorkerFixture.random(2, 1);
    try (ModelSession session = gatedOffline(model)) {
      float[] expected = runOffline(session, x);
      assertEquals(1, workers.await(WorkerState.OFFLINE, 1).sessions());
      assertEquals(1, workers.await(WorkerState.STANDBY, 1).sessions());
      assertEquals(0, workers.active().sessions());
      assertArrayEquals(expected, workers.run(session, x));
      assertEquals(1, workers.active().sessions());
    }
    assertEquals(0, workers.constants.usedBytes());
  }

  /** The 19th field; the second is a name in brackets that may have blanks. */
  private static int nice(Path stat) throws IOException {
    String line = Files.readString(stat);
    return Integer.parseInt(line.substring(line.lastIndexOf(')') + 2).split(" ", -1)[16]);
  }

  private static Set<Integer> niceOfThreads(long pid) throws IOException {
    Set<Integer> values = new HashSet<>();
    try (DirectoryStream<Path> threads =
        Files.newDirectoryStream(Path.of("/proc/" + pid + "/task"))) {
      for (Path thread : threads) {
        values.add(nice(thread.resolve("stat")));
      }
    }
    return values;
  }

  /** All its threads, those that it starts for sessions included; nobody else's. */
  @Test
  void workerOfOfflineWork_isLessUrgentToTheProcessorThanOthers() throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (ModelSession session = gatedOffline(model)) {
      runOffline(session, WorkerFixture.random(2, 1));
      long offline = workers.await(WorkerState.OFFLINE, 1).pid();
      int usual = nice(Path.of("/proc/self/stat"));
      assertEquals(Set.of(TestDevices.OFFLINE_NICE), niceOfThreads(offline));
      assertEquals(Set.of(usual), niceOfThreads(workers.active().pid()));
      assertEquals(Set.of(usual), niceOfThreads(workers.await(WorkerState.STANDBY, 0).pid()));
    }
  }

  /** However often it is lost, the one that stands by stays for online work. */
  @Test
  void offlineWorkerKilled_twice_isReplacedByANewOneAndNobodyElseMoves() throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    float[] x = WorkerFixture.random(2, 1);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, x);
      assertArrayEquals(expected, runOffline(session, x));
      int active = workers.active().id();
      int before = workers.await(WorkerState.OFFLINE, 1).id();
      for (int kills = 1; kills <= 2; kills++) {
        Signals.send("KILL", workers.await(WorkerState.OFFLINE, 0).pid());
        awaitLosses(kills);
        assertArrayEquals(expected, workers.run(session, x));
        assertArrayEquals(expected, runOffline(session, x));
        int now = workers.await(WorkerState.OFFLINE, 1).id();
        assertNotEquals(before, now);
        before = now;
        assertEquals(active, workers.active().id());
        assertEquals(1, standbys(), "one is left for online work");
      }
    }
  }

  /** Whoever ends a group of processes means the server; those of online work are its own. */
  @Test
  void otherWorkersToldToEnd_stay() throws Exception {
    String signal = "TERM";
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    float[] x = WorkerFixture.random(2, 1);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, x);
      long offline = workers.await(WorkerState.OFFLINE, 0).pid();
      int active = workers.active().id();
      Signals.send(signal, workers.active().pid(), workers.await(WorkerState.STANDBY, 1).pid());
      assertArrayEquals(expected, workers.run(session, x));
      Signals.send(signal, offline);
      awaitLosses(1);
      assertArrayEquals(expected, workers.run(session, x));
      assertArrayEquals(expected, runOffline(session, x), "in another one");
      assertEquals(active, workers.active().id());
      assertEquals(1, workers.sessions.workers().lost());
      String loss = workers.sessions.workers().lastLoss();
      assertTrue(loss.contains("ended with code " + WorkerArea.TOLD_TO_END), loss);
    }
  }

  @Test
  void activeWorkerKilled_standbyTakesOverAndOfflineWorkStaysWhereItIs() throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    float[] x = WorkerFixture.random(2, 1);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = runOffline(session, x);
      int offline = workers.await(WorkerState.OFFLINE, 1).id();
      ActiveWorker.kill(workers.sessions);
      assertArrayEquals(expected, workers.run(session, x));
      assertArrayEquals(expected, runOffline(session, x));
      assertEquals(offline, workers.await(WorkerState.OFFLINE, 1).id());
    }
  }

  @Test
  void offlineWorkerRecycled_goesOnceAnotherHasTakenOver() throws Exception {
    int before = workers.await(WorkerState.OFFLINE, 0).id();
    int active = workers.active().id();
    workers.sessions.recycle(before).get();
    assertNotEquals(before, workers.await(WorkerState.OFFLINE, 0).id());
    assertEquals(active, workers.active().id());
    assertEquals(0, workers.sessions.workers().lost());
  }
}
