package io.pipelane.server.device;

import io.pipelane.config.DeviceBudget;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.RuntimeConfig;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.execution.CaptureSettings;
import io.pipelane.lanes.cuda.execution.CudaSessionFactory;
import io.pipelane.lanes.cuda.execution.ExecutionSettings;
import io.pipelane.modelstore.importing.ImportTarget;
import java.nio.file.Path;

/** Opens GPUs as devices. */
final class CudaServing {
  private CudaServing() {}

  static ServingDevice open(PipelaneConfig config, Path library, CudaDriver driver, int ordinal) {
    DeviceBudget budget;
    CudaDevice device;
    try (CudaContext context = CudaContext.open(driver, ordinal)) {
      budget = config.device().forGpu(context.freeBytes());
      device = CudaDevice.open(driver, ordinal, budget.weights(), budget.page());
    }
    RuntimeConfig runtime = config.runtime();
    return new ServingDevice(
        target(config, device.context()),
        device,
        budget,
        memory -> new CudaSessionFactory(library, device, memory, execution(runtime)));
  }

  /** What models are imported for that a device serves. */
  static ImportTarget target(PipelaneConfig config, CudaContext context) {
    return ImportTarget.cuda(context.index(), config.runtime().tf32(), context.deviceName());
  }

  private static ExecutionSettings execution(RuntimeConfig runtime) {
    CaptureSettings standard = CaptureSettings.DEFAULT;
    return new ExecutionSettings(
        runtime.tf32(),
        ":%d:1".formatted(runtime.cublasWorkspace().bytes() >> 10),
        runtime.capture()
            ? new CaptureSettings(runtime.captureAfter(), standard.maximumCaptures())
            : CaptureSettings.NEVER);
  }
}
