package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ProcessSessionTest {
  @TempDir Path folder;
  private final WorkerFixture workers = new WorkerFixture(0, Duration.ofSeconds(20));

  @AfterEach
  void close() {
    assertEquals(0, workers.region.usedBytes());
    assertEquals(0, workers.constants.usedBytes());
    workers.close();
  }

  @Test
  void run_inAWorker_answers() throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    float[] x = WorkerFixture.random(2, 1);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] first = workers.run(session, x);
      long[] times = new long[3000];
      for (int i = 0; i < times.length; i++) {
        long begin = System.nanoTime();
        float[] again = workers.run(session, x);
        times[i] = System.nanoTime() - begin;
        assertArrayEquals(first, again);
      }
      java.util.Arrays.sort(times, 1000, 3000);
      System.out.println("p50 us " + times[2000] / 1e3 + " p99 " + times[2980] / 1e3);
    }
    workers.constants.close();
  }
}
