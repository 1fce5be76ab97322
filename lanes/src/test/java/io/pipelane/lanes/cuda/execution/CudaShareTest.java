package io.pipelane.lanes.cuda.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.GpuTests;
import io.pipelane.lanes.cuda.execution.GpuSessions.Loaded;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sessions and their captures in a lane that keeps to some of a GPU's multiprocessors. */
@Tag("gpu")
class CudaShareTest {
  private static final int RUNS = 4;

  @TempDir Path folder;

  @ParameterizedTest
  @ValueSource(ints = {10, 25, 50, 90, 100})
  void runsAndReplays_equalThoseOfTheWholeDevice(int percent) throws IOException {
    CudaDriver driver = GpuTests.driverOrSkip();
    float[] expected = answer(driver, 0, "whole");
    assertArrayEquals(expected, answer(driver, percent, "share"), 1e-3f);
  }

  private float[] answer(CudaDriver driver, int percent, String name) throws IOException {
    float[] x = new float[2 * TestModels.WIDTH];
    for (int i = 0; i < x.length; i++) {
      x[i] = (i % 7) / 7f;
    }
    try (GpuSessions gpu = new GpuSessions(driver, new CaptureSettings(2, 2), percent);
        Loaded loaded = gpu.load(TestModels.chain(5, TestModels.WIDTH, 1), name, folder)) {
      float[] answer = {};
      for (int i = 0; i < RUNS; i++) {
        FloatInvocation invocation = new FloatInvocation(x, Shape.of(2, TestModels.WIDTH));
        loaded.session().run(invocation, gpu.region, bytes -> false, WeightArrivals.PRESENT);
        answer = invocation.output();
      }
      assertTrue(loaded.session().isCaptured());
      return answer;
    }
  }
}
