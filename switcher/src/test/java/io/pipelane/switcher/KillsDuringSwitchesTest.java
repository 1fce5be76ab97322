package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.section.WorkersConfig.SwitchOn;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.process.ArmedFaults;
import io.pipelane.lanes.process.ArmedFaults.Fault;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.worker.FaultyWorker;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Workers that are killed while another owner's requests have them left for the next one. */
@Tag("long")
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class KillsDuringSwitchesTest {
  private static final int ROUNDS = 3;

  /** Of a run that another owner's waits for. */
  private static final List<Step> STEPS = List.of(Step.COMPUTING, Step.RAN);

  @TempDir Path folder;

  /** An owner of one model, whose requests come one after another, and what they are answered. */
  private final class Client {
    final ImportedModel model;
    final float[] input;
    final float[] expected;
    final AtomicInteger answered = new AtomicInteger();

    Client(WorkersFixture workers, String owner, long seed) throws IOException {
      model =
          TestImports.of(
                  TestModels.chain(WorkersFixture.LAYERS, WorkersFixture.WIDTH, seed),
                  "of-" + owner,
                  folder)
              .ofTenant(owner);
      workers.switcher.register(model);
      input = WorkersFixture.input(seed);
      expected = workers.infer(model, input);
    }

    /** Every request has one answer, and that is right. */
    void askUntil(WorkersFixture workers, AtomicBoolean over) {
      while (!over.get()) {
        Call call = workers.submit(model, input);
        assertArrayEquals(expected, call.await());
        assertEquals(1, call.answers());
        answered.incrementAndGet();
      }
    }
  }

  @Test
  void workersAreKilledWhileTheyChangeWithModels_everyRequestHasOneRightAnswer() throws Exception {
    killWhileTheyChange(SwitchOn.MODEL);
  }

  @Test
  void workersAreKilledWhileTheyChangeWithTenants_everyRequestHasOneRightAnswer() throws Exception {
    killWhileTheyChange(SwitchOn.TENANT);
  }

  private void killWhileTheyChange(SwitchOn switchOn) throws Exception {
    try (ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().pid());
        WorkersFixture workers =
            new WorkersFixture(new TestWorkers(2).program(FaultyWorker.class).switchOn(switchOn));
        ExecutorService threads = Executors.newCachedThreadPool()) {
      List<Client> clients = List.of(new Client(workers, "a", 1), new Client(workers, "b", 2));
      AtomicBoolean over = new AtomicBoolean();
      List<Future<?>> asking = new ArrayList<>();
      for (Client client : clients) {
        asking.add(threads.submit(() -> client.askUntil(workers, over)));
      }
      try {
        for (int round = 0; round < ROUNDS; round++) {
          for (Step step : STEPS) {
            faults.arm(step, Fault.KILL);
            awaitWhile(() -> faults.isArmed(step), asking);
            awaitAnswers(workers, clients, asking);
          }
          killActive(workers);
          awaitAnswers(workers, clients, asking);
        }
      } finally {
        over.set(true);
      }
      for (Future<?> each : asking) {
        each.get();
      }
      for (Client client : clients) {
        assertTrue(workers.switcher.quarantine(client.model.version()).isEmpty());
      }
      assertEquals(0, workers.switcher.retries().lost());
    }
  }

  /** At any time of a change, or in between. */
  private static void killActive(WorkersFixture workers) {
    boolean killed = false;
    while (!killed) { // It may be gone just now.
      killed =
          workers
              .in(WorkerState.ACTIVE)
              .flatMap(active -> ProcessHandle.of(active.pid()))
              .map(ProcessHandle::destroyForcibly)
              .orElse(false);
    }
  }

  /** Nobody is to lose a request twice: those under way are answered before the next is killed. */
  private static void awaitAnswers(
      WorkersFixture workers, List<Client> clients, List<Future<?>> asking) {
    for (Client client : clients) {
      int wanted = client.answered.get() + 2;
      awaitWhile(() -> client.answered.get() < wanted, asking);
    }
    workers.switcher.verify();
  }

  private static void awaitWhile(BooleanSupplier goesOn, List<Future<?>> asking) {
    while (goesOn.getAsBoolean() && asking.stream().noneMatch(Future::isDone)) {
      LockSupport.parkNanos(1_000_000);
    }
  }
}
