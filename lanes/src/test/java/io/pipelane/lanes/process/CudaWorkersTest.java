package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.GpuTests;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Worker processes that share a GPU's pages, against sessions of this process. */
@Tag("gpu")
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CudaWorkersTest {
  private static final int LAYERS = 8;
  private static final int WIDTH = 2048;
  private static final int ROUNDS = 30;
  private static final ByteSize WEIGHTS = ByteSize.ofMebibytes(512);
  private static final ByteSize PAGE = ByteSize.ofMebibytes(16);

  @TempDir Path folder;
  private CudaDriver driver;

  @BeforeEach
  void requireGpu() {
    driver = GpuTests.driverOrSkip();
  }

  private ImportedModel chain(long seed) throws Exception {
    return TestImports.of(TestModels.chain(LAYERS, WIDTH, seed), "chain" + seed, folder);
  }

  private GpuSide inThisProcess(ImportedModel model) throws Exception {
    return GpuSide.inThisProcess(CudaDevice.open(driver, 0, WEIGHTS, PAGE), model);
  }

  private GpuSide inWorkers(ImportedModel model, int standbys) throws Exception {
    return GpuSide.inWorkers(CudaDevice.openForWorkers(driver, 0, WEIGHTS, PAGE), model, standbys);
  }

  /** With 64 rows the output is large enough to be written where it is wanted, and fits there. */
  @Test
  void run_coldAndWarmAndMoved_answersAsInOneProcess() throws Exception {
    ImportedModel model = chain(1);
    for (int rows : new int[] {8, 64, 512}) {
      float[] x = GpuSide.random(rows * WIDTH, rows);
      float[] expected;
      try (GpuSide here = inThisProcess(model)) {
        expected = here.cold(x).y();
        measure("thread", rows, here, x, expected);
      }
      try (GpuSide workers = inWorkers(model, 0)) {
        assertArrayEquals(expected, workers.cold(x).y());
        measure("process", rows, workers, x, expected);
        assertEquals(0, workers.overview().lost());
      }
    }
  }

  private static void measure(String name, int rows, GpuSide side, float[] x, float[] expected) {
    median(() -> checked(side.warm(x), expected)); // Captured after this.
    double warm = median(() -> checked(side.warm(x), expected));
    double cold = median(() -> checked(side.cold(x), expected));
    double moved = median(() -> checked(side.moved(x), expected));
    System.out.printf(
        "%s, %d rows, ms: warm %.3f, cold %.3f, cold on other pages %.3f%n",
        name, rows, warm, cold, moved);
  }

  private static long checked(GpuSide.Timed answer, float[] expected) {
    assertArrayEquals(expected, answer.y());
    return answer.nanos();
  }

  private static double median(Supplier<Long> run) {
    long[] nanos = new long[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
      nanos[i] = run.get();
    }
    Arrays.sort(nanos);
    return nanos[ROUNDS / 2] / 1e6;
  }

  @Test
  void run_workerIsKilledWhileItsDeviceWaits_theNextAnswersFromTheSamePages() throws Exception {
    ImportedModel model = chain(2);
    float[] x = GpuSide.random(8 * WIDTH, 1);
    try (GpuSide workers = inWorkers(model, 1)) {
      float[] expected = workers.cold(x).y();
      workers.awaitStandby();
      long pid = workers.active().pid();
      CompletableFuture<float[]> held = workers.heldRun(x);
      Signals.send("KILL", pid);
      CompletionException error = assertThrows(CompletionException.class, held::join);
      assertTrue(error.getCause() instanceof WorkerLostException, error.toString());
      long begin = System.nanoTime();
      assertArrayEquals(expected, workers.cold(x).y());
      System.out.printf("after a kill: %.1f ms%n", (System.nanoTime() - begin) / 1e6);
      assertArrayEquals(expected, workers.warm(x).y());
      assertEquals(1, workers.overview().lost());
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = ArmedFaults.Fault.class,
      names = {"DEVICE_ERROR", "DEVICE_HANG"})
  void run_aKernelBreaksTheDevicesContext_theNextWorkerAnswersFromTheSamePages(
      ArmedFaults.Fault fault) throws Exception {
    ImportedModel model = chain(4);
    float[] x = GpuSide.random(8 * WIDTH, 1);
    CudaDevice device = CudaDevice.openForWorkers(driver, 0, WEIGHTS, PAGE);
    try (ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().pid());
        GpuSide workers = GpuSide.inFaultyWorkers(device, model, Duration.ofSeconds(2))) {
      float[] expected = workers.cold(x).y();
      workers.awaitStandby();
      faults.arm(Step.COMPUTING, fault);
      long begin = System.nanoTime();
      WorkerLostException error = assertThrows(WorkerLostException.class, () -> workers.warm(x));
      double lost = (System.nanoTime() - begin) / 1e6;
      assertArrayEquals(expected, workers.warm(x).y());
      double answered = (System.nanoTime() - begin) / 1e6;
      assertArrayEquals(expected, workers.cold(x).y());
      System.out.printf(
          "%s: lost after %.1f ms, answered after %.1f ms: %s%n",
          fault, lost, answered, error.getMessage());
      assertEquals(1, workers.overview().lost());
    }
  }

  @Test
  void run_captured_isToldOfTheSession() throws Exception {
    ImportedModel model = chain(5);
    float[] x = GpuSide.random(8 * WIDTH, 1);
    try (GpuSide workers = inWorkers(model, 0)) {
      float[] expected = workers.cold(x).y();
      runAndRequire(expected, workers, x);
      assertTrue(isCaptured(workers), workers.notes().toString());
      workers.shrink();
      assertArrayEquals(expected, workers.warm(x).y());
      assertTrue(workers.active().deviceBytes() > 0);
    }
  }

  @Test
  void run_capturesWereRefusedForATime_areMadeAgain() throws Exception {
    ImportedModel model = chain(7);
    float[] x = GpuSide.random(8 * WIDTH, 1);
    try (GpuSide workers = inWorkers(model, 0)) {
      float[] expected = workers.cold(x).y();
      runAndRequire(expected, workers, x);
      assertTrue(isCaptured(workers), workers.notes().toString());
      workers.refuseCaptures();
      runAndRequire(expected, workers, x);
      assertFalse(isCaptured(workers), workers.notes().toString());
      workers.allowCaptures();
      runAndRequire(expected, workers, x);
      assertTrue(isCaptured(workers), workers.notes().toString());
      assertEquals(0, workers.overview().lost());
    }
  }

  private static boolean isCaptured(GpuSide workers) {
    return workers.notes().toString().contains("captured for");
  }

  /** Often enough for a capture, and for a replay of it. */
  private static void runAndRequire(float[] expected, GpuSide workers, float[] x) {
    for (int i = 0; i < 4; i++) {
      assertArrayEquals(expected, workers.warm(x).y());
    }
  }

  @Test
  void takeOver_shapesThatWereCaptured_areReplayedAtOnce() throws Exception {
    ImportedModel model = chain(6);
    float[] x = GpuSide.random(8 * WIDTH, 1);
    try (GpuSide workers = inWorkers(model, 1)) {
      float[] expected = workers.cold(x).y();
      workers.awaitStandby();
      firstRunAfterAKill("the session alone", workers, x, expected);
    }
    try (GpuSide workers = inWorkers(model, 1)) {
      float[] expected = workers.cold(x).y();
      for (int i = 0; i < 4; i++) {
        assertArrayEquals(expected, workers.warm(x).y());
      }
      for (int i = 0; i < 2; i++) {
        workers.awaitWarmedUp(1);
        firstRunAfterAKill("captures", workers, x, expected);
        assertTrue(workers.notes().toString().contains("captured for"), workers.notes()::toString);
        assertArrayEquals(expected, workers.moved(x).y());
      }
      assertEquals(2, workers.overview().lost());
    }
  }

  private static void firstRunAfterAKill(
      String name, GpuSide workers, float[] x, float[] expected) {
    long lost = workers.overview().lost();
    Signals.send("KILL", workers.active().pid());
    while (workers.overview().lost() == lost) {
      LockSupport.parkNanos(1_000_000);
    }
    GpuSide.Timed first = workers.warm(x);
    assertArrayEquals(expected, first.y());
    System.out.printf(
        "the first run of a worker that stood by with %s: %.1f ms%n", name, first.nanos() / 1e6);
  }

  @Test
  void close_afterManyRuns_givesTheDevicesMemoryBack() throws Exception {
    ImportedModel model = chain(3);
    float[] x = GpuSide.random(8 * WIDTH, 1);
    long before;
    try (CudaDevice device = CudaDevice.open(driver, 0, WEIGHTS, PAGE)) {
      before = device.driverUsedBytes() - device.deviceBytes();
    }
    for (int i = 0; i < 2; i++) {
      try (GpuSide workers = inWorkers(model, 1)) {
        float[] expected = workers.cold(x).y();
        workers.awaitStandby();
        System.out.printf(
            "two workers take %d MiB beside pages%n",
            (workers.device().driverUsedBytes() - workers.device().deviceBytes() - before) >> 20);
        assertArrayEquals(expected, workers.warm(x).y());
      }
      try (CudaDevice device = CudaDevice.open(driver, 0, WEIGHTS, PAGE)) {
        long after = device.driverUsedBytes() - device.deviceBytes();
        assertTrue(after - before < 64L << 20, "%d, then %d".formatted(before, after));
      }
    }
  }
}
