package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.process.ArmedFaults;
import io.pipelane.lanes.process.SharedAreas;
import io.pipelane.lanes.process.Signals;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.lanes.process.worker.FaultyWorker;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The same fault of worker processes again and again, while clients ask: every answer is right, and
 * the accounts are exact after each.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RepeatedFaultsTest {
  private static final int CLIENTS = 4;
  private static final int MODELS = 4;

  /** Of which two are of one structure. */
  private static final int STRUCTURES = 3;

  @TempDir Path folder;

  /** What is done to workers, of which two are ready. */
  enum Fault {
    KILL(1) {
      @Override
      void commit(WorkersFixture workers, ArmedFaults armed) {
        workers.killActive();
      }
    },
    HANG(1) {
      @Override
      void commit(WorkersFixture workers, ArmedFaults armed) {
        Signals.send("STOP", active(workers).pid());
      }
    },
    GARBAGE(1) {
      @Override
      void commit(WorkersFixture workers, ArmedFaults armed) throws IOException {
        SharedAreas.fillWithGarbage(active(workers).id());
      }
    },
    /** The active worker, which alone computes for clients, takes all the heap that it may. */
    OUT_OF_MEMORY(1) {
      @Override
      void commit(WorkersFixture workers, ArmedFaults armed) {
        armed.arm(Step.COMPUTING, ArmedFaults.Fault.OUT_OF_MEMORY);
      }
    },
    /** A custom operator of the graph that the active worker runs calls {@code abort()}. */
    ABORT(1) {
      @Override
      void commit(WorkersFixture workers, ArmedFaults armed) {
        armed.arm(Step.COMPUTING, ArmedFaults.Fault.ABORT);
      }
    },
    ACTIVE_AND_STANDBY(2) {
      @Override
      void commit(WorkersFixture workers, ArmedFaults armed) {
        // One after another, the second could go with a run's retry, which would blame its model.
        Signals.send("KILL", active(workers).pid(), workers.await(WorkerState.STANDBY, 0).pid());
      }
    };

    private final int losses;

    Fault(int losses) {
      this.losses = losses;
    }

    abstract void commit(WorkersFixture workers, ArmedFaults armed) throws IOException;

    static WorkersOverview.Entry active(WorkersFixture workers) {
      return workers.await(WorkerState.ACTIVE, 0);
    }

    /** Short where it is to be waited for, else longer than a busy machine may keep a run. */
    Duration hangTimeout() {
      return Duration.ofSeconds(this == HANG ? 5 : 20);
    }
  }

  /** Faults of a run are made in {@link InjectedFaultsTest}. */
  @ParameterizedTest
  @EnumSource(names = {"KILL", "GARBAGE", "ACTIVE_AND_STANDBY"})
  void fault_once_everyAnswerIsRight(Fault fault) throws Exception {
    repeat(fault, 1, 100);
  }

  @ParameterizedTest
  @EnumSource
  @Tag("long")
  @Timeout(value = 30, unit = TimeUnit.MINUTES)
  void fault_fiftyTimesDuringThousandsOfRequests_everyAnswerIsRight(Fault fault) throws Exception {
    repeat(fault, 50, 1_000);
  }

  /**
   * More models than fit, two of one structure, so that requests are warm, cold and remapped when
   * they are interrupted.
   */
  private void repeat(Fault fault, int times, int requestsEach) throws Exception {
    long seed = System.nanoTime();
    try (ArmedFaults armed = ArmedFaults.of(ProcessHandle.current().pid());
        WorkersFixture workers =
            new WorkersFixture(
                new TestWorkers(1).program(FaultyWorker.class).hangTimeout(fault.hangTimeout()))) {
      List<ImportedModel> models = new ArrayList<>();
      List<float[]> expected = new ArrayList<>();
      for (int i = 0; i < MODELS; i++) {
        models.add(chain("m" + i, WorkersFixture.LAYERS - (i + 1) / 2, i));
        workers.switcher.register(models.get(i));
        expected.add(workers.infer(models.get(i), WorkersFixture.input(i)));
      }
      AtomicBoolean over = new AtomicBoolean();
      AtomicLong answered = new AtomicLong();
      AtomicLong slowest = new AtomicLong();
      List<Long> pauses = new ArrayList<>();
      try (ExecutorService threads = Executors.newFixedThreadPool(CLIENTS)) {
        List<Future<?>> clients = new ArrayList<>();
        for (int c = 0; c < CLIENTS; c++) {
          Random random = new Random(seed + c);
          clients.add(
              threads.submit(
                  () -> {
                    while (!over.get()) {
                      int i = random.nextInt(MODELS);
                      long begin = System.nanoTime();
                      float[] answer = workers.infer(models.get(i), WorkersFixture.input(i));
                      slowest.accumulateAndGet(System.nanoTime() - begin, Math::max);
                      assertArrayEquals(expected.get(i), answer, "seed " + seed);
                      answered.incrementAndGet();
                    }
                  }));
        }
        try {
          for (int time = 1; time <= times; time++) {
            awaitStandby(workers, clients);
            awaitMore(answered, requestsEach + new Random(seed + time).nextInt(50), clients);
            slowest.set(0);
            fault.commit(workers, armed);
            awaitLost(workers, (long) time * fault.losses, clients);
            awaitMore(answered, 50, clients);
            pauses.add(slowest.get());
            workers.switcher.verify();
          }
        } finally {
          over.set(true);
        }
        for (Future<?> client : clients) {
          client.get();
        }
      }
      WorkersOverview overview = workers.workers.workers();
      assertEquals((long) times * fault.losses, overview.lost(), overview.lastLoss());
      pauses.sort(null);
      System.out.printf(
          "%s %d times, %d requests: slowest answer around one %.1f ms at the median, %.1f ms at most; seed %d%n",
          fault,
          times,
          answered.get(),
          pauses.get(pauses.size() / 2) / 1e6,
          pauses.getLast() / 1e6,
          seed);
    }
  }

  private ImportedModel chain(String name, int layers, long seed) throws IOException {
    return TestImports.of(TestModels.chain(layers, WorkersFixture.WIDTH, seed), name, folder);
  }

  private static void awaitStandby(WorkersFixture workers, List<Future<?>> clients)
      throws InterruptedException, ExecutionException {
    while (workers.in(WorkerState.STANDBY).filter(w -> w.sessions() >= STRUCTURES).isEmpty()) {
      pause(clients);
    }
  }

  /** The supervisor hears of a loss a little later than requests do. */
  private static void awaitLost(WorkersFixture workers, long lost, List<Future<?>> clients)
      throws InterruptedException, ExecutionException {
    while (workers.workers.workers().lost() < lost) {
      pause(clients);
    }
  }

  private static void awaitMore(AtomicLong answered, long more, List<Future<?>> clients)
      throws InterruptedException, ExecutionException {
    long until = answered.get() + more;
    while (answered.get() < until) {
      pause(clients);
    }
  }

  /** For a moment, unless a client has failed. */
  private static void pause(List<Future<?>> clients)
      throws InterruptedException, ExecutionException {
    for (Future<?> client : clients) {
      if (client.isDone()) {
        client.get();
      }
    }
    LockSupport.parkNanos(1_000_000);
  }
}
