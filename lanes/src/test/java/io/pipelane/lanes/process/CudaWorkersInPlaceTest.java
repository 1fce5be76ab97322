package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.DeviceCopy;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.GpuTests;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tables in the server's pinned memory, read by the runs of a worker process. */
@Tag("gpu")
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CudaWorkersInPlaceTest {
  private static final ByteSize WEIGHTS = ByteSize.ofMebibytes(64);
  private static final ByteSize PAGE = ByteSize.ofMebibytes(2);
  private static final int REQUESTS = 4;

  @TempDir Path folder;
  private CudaDriver driver;

  @BeforeEach
  void requireGpu() {
    driver = GpuTests.driverOrSkip();
  }

  private ImportedModel variant(int seed) throws IOException {
    ImportedModel model = TestImports.of(TestModels.embedding(3, seed), "table" + seed, folder);
    assertTrue(model.plan().inPlaceBytes() > 0, "the model reads nothing in place");
    return model;
  }

  /** Cold, uncaptured and captured answers of each variant in turn. */
  private static List<float[]> answers(GpuSide side, List<ImportedModel> variants, float[] x)
      throws IOException {
    List<float[]> answers = new ArrayList<>();
    for (int i = 0; i < variants.size(); i++) {
      if (i > 0) {
        side.become(variants.get(i));
      }
      answers.add(side.cold(x).y());
      for (int request = 0; request < REQUESTS; request++) {
        answers.add(side.warm(x).y());
      }
      answers.add(side.moved(x).y());
    }
    return answers;
  }

  @Test
  void run_variantsInTurn_answersAsInOneProcess_andWhatIsGoneIsGivenBack() throws IOException {
    List<ImportedModel> variants = List.of(variant(1), variant(2), variant(3));
    float[] x = GpuSide.random(6 * TestModels.WIDTH, 1);
    List<float[]> expected;
    try (GpuSide here =
        GpuSide.inThisProcess(CudaDevice.open(driver, 0, WEIGHTS, PAGE), variants.getFirst())) {
      expected = answers(here, variants, x);
    }
    try (GpuSide workers =
        GpuSide.inWorkers(
            CudaDevice.openForWorkers(driver, 0, WEIGHTS, PAGE), variants.getFirst(), 0)) {
      List<float[]> actual = answers(workers, variants, x);
      for (int i = 0; i < expected.size(); i++) {
        assertArrayEquals(expected.get(i), actual.get(i), "answer " + i);
      }
      assertTrue(workers.notes().toString().contains("captured for"), workers.notes().toString());
      long pid = workers.active().pid();
      assertEquals(variants.size(), tablesMappedBy(pid));
      workers.forgetOthers();
      assertEquals(1, tablesMappedBy(pid), "what the server has closed is mapped still");
      assertArrayEquals(expected.getLast(), workers.warm(x).y());
      assertEquals(0, workers.overview().lost());
    }
  }

  @Test
  void run_tableComesToTheDeviceAndGoes_isReadThereAndAnswersAreTheSame() throws IOException {
    ImportedModel model = variant(5);
    float[] x = GpuSide.random(6 * TestModels.WIDTH, 3);
    try (GpuSide workers =
            GpuSide.inWorkers(CudaDevice.openForWorkers(driver, 0, WEIGHTS, PAGE), model, 0);
        DeviceCopy copy = new DeviceCopy(workers.device(), workers.table())) {
      List<float[]> expected = new ArrayList<>(List.of(workers.cold(x).y()));
      for (int request = 0; request < REQUESTS; request++) {
        expected.add(workers.warm(x).y());
      }
      byte[] content = workers.table().toArray(ValueLayout.JAVA_BYTE);
      List<Page> others = new ArrayList<>();
      for (int round = 0; round < 3; round++) {
        workers.showPages(copy);
        workers.table().fill((byte) 0x7f); // Which the worker sees, too.
        for (int request = 0; request < REQUESTS; request++) {
          requireAmong(expected, workers.warm(x).y(), "copied, round " + round);
        }
        requireAmong(expected, workers.cold(x).y(), "copied, cold, round " + round);
        workers.hidePages(copy);
        MemorySegment.copy(content, 0, workers.table(), ValueLayout.JAVA_BYTE, 0, content.length);
        requireAmong(expected, workers.warm(x).y(), "on the host, round " + round);
        others.add(workers.device().pages().take().orElseThrow()); // The next lies elsewhere.
        workers.forgetOthers(); // Which has the worker give the copy's addresses back.
      }
      others.forEach(workers.device().pages()::giveBack);
      assertEquals(0, workers.overview().lost());
    }
  }

  /** Captured and uncaptured runs may differ in the last bits. */
  private static void requireAmong(List<float[]> expected, float[] actual, String what) {
    assertTrue(
        expected.stream().anyMatch(each -> Arrays.equals(each, actual)),
        what + ": " + Arrays.toString(actual));
  }

  @Test
  void run_workerIsKilled_theNextReadsTheSameTable() throws Exception {
    ImportedModel model = variant(4);
    float[] x = GpuSide.random(6 * TestModels.WIDTH, 2);
    try (GpuSide workers =
        GpuSide.inWorkers(CudaDevice.openForWorkers(driver, 0, WEIGHTS, PAGE), model, 1)) {
      float[] expected = workers.cold(x).y();
      workers.awaitStandby();
      long pid = workers.active().pid();
      Signals.send("KILL", pid);
      ProcessHandle.of(pid).ifPresent(process -> process.onExit().join());
      float[] again;
      try {
        again = workers.warm(x).y();
      } catch (WorkerLostException e) {
        again = workers.warm(x).y(); // The loss had not been noticed.
      }
      assertArrayEquals(expected, again);
      assertEquals(1, tablesMappedBy(workers.active().pid()));
    }
  }

  /** A worker maps no other memory of that name. */
  private static long tablesMappedBy(long pid) throws IOException {
    return Files.readAllLines(Path.of("/proc/" + pid + "/maps")).stream()
        .filter(line -> line.contains("memfd:weights"))
        .count();
  }
}
