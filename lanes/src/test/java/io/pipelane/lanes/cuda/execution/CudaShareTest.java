package io.pipelane.lanes.cuda.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.cuda.CaptureSettings;
import io.pipelane.lanes.cuda.CudaEphemeralRegion;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.GpuTests;
import io.pipelane.lanes.cuda.execution.GpuSessions.Loaded;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
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

  /** As sizes are chosen: sessions and captures stay, memory is that of the lane that is in use. */
  @Test
  void sizesInTurn_eachWithTheMemoryOfTheOther_replayWhatTheyCaptured() throws IOException {
    CudaDriver driver = GpuTests.driverOrSkip();
    float[] expected = answer(driver, 0, "whole");
    ImportedModel model = TestImports.of(TestModels.chain(5, TestModels.WIDTH, 1), "sizes", folder);
    try (GpuSessions gpu = new GpuSessions(driver, new CaptureSettings(2, 2), 5)) {
      CudaEphemeralRegion larger = gpu.lane(20);
      try (Loaded few = gpu.load(model);
          Loaded many = gpu.load(model, larger)) {
        for (int i = 0; i < RUNS; i++) {
          larger.limit(0);
          gpu.region.limit(64 * GpuSessions.MIB);
          assertArrayEquals(expected, run(few, gpu.region), 1e-3f);
          gpu.region.limit(0);
          larger.limit(64 * GpuSessions.MIB);
          assertArrayEquals(expected, run(many, larger), 1e-3f);
        }
        assertTrue(few.session().isCaptured() && many.session().isCaptured());
      }
    }
  }

  private static float[] run(Loaded loaded, CudaEphemeralRegion lane) {
    FloatInvocation invocation = new FloatInvocation(input(), Shape.of(2, TestModels.WIDTH));
    loaded.session().run(invocation, lane, bytes -> false, WeightArrivals.PRESENT);
    return invocation.output();
  }

  private static float[] input() {
    float[] x = new float[2 * TestModels.WIDTH];
    for (int i = 0; i < x.length; i++) {
      x[i] = (i % 7) / 7f;
    }
    return x;
  }

  private float[] answer(CudaDriver driver, int percent, String name) throws IOException {
    try (GpuSessions gpu = new GpuSessions(driver, new CaptureSettings(2, 2), percent);
        Loaded loaded = gpu.load(TestModels.chain(5, TestModels.WIDTH, 1), name, folder)) {
      float[] answer = {};
      for (int i = 0; i < RUNS; i++) {
        answer = run(loaded, gpu.region);
      }
      assertTrue(loaded.session().isCaptured());
      return answer;
    }
  }
}
