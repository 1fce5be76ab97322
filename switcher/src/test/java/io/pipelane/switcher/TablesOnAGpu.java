package io.pipelane.switcher;

import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.ExecutionSettings;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.GpuTests;
import io.pipelane.lanes.cuda.execution.CudaSessionFactory;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.runtime.TestModels;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A GPU with two pages for weights, and models whose tables lie in the host tier. */
@Tag("gpu")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class TablesOnAGpu {
  static final int LAYERS = 4;
  static final ByteSize PAGE = ByteSize.ofMebibytes(2);

  /** A page for each of two models, or for one and its table. */
  static final ByteSize WEIGHTS = ByteSize.ofMebibytes(4);

  @TempDir Path folder;
  private CudaDriver driver;

  @BeforeEach
  void requireGpu() {
    driver = GpuTests.driverOrSkip();
  }

  CudaDevice device(boolean inWorkers) {
    return inWorkers
        ? CudaDevice.openForWorkers(driver, 0, WEIGHTS, PAGE)
        : CudaDevice.open(driver, 0, WEIGHTS, PAGE);
  }

  static Switcher open(
      CudaDevice device, HostTier tier, boolean inWorkers, SwitcherSettings settings) {
    DeviceMemory memory = new DeviceMemory(device.persistent());
    SessionFactory sessions =
        inWorkers
            ? TestDevices.workers(
                device, new TestWorkers(0).lanes(2).hangTimeout(Duration.ofSeconds(30)))
            : new CudaSessionFactory(
                TestDevices.library(), device, memory, ExecutionSettings.DEFAULT);
    return new Switcher(device, memory, sessions, settings, tier);
  }

  static float[] infer(Switcher switcher, ImportedModel model) {
    Random random = new Random(11);
    float[] x = new float[TestModels.WIDTH];
    for (int i = 0; i < x.length; i++) {
      x[i] = (float) random.nextGaussian();
    }
    Call call = new Call();
    switcher.submit(Call.request(model.version(), x), call);
    return call.await();
  }
}
