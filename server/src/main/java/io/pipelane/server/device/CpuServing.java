package io.pipelane.server.device;

import io.pipelane.config.DeviceBudget;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.CpuSessionFactory;
import io.pipelane.modelstore.importing.ImportTarget;
import java.nio.file.Path;

/** Opens the processor as a device. */
final class CpuServing {
  private CpuServing() {}

  static ServingDevice open(PipelaneConfig config, Path library) {
    DeviceBudget budget = config.device().forCpu(Runtime.getRuntime().availableProcessors());
    CpuDevice device = CpuDevice.open(budget.weights(), budget.page(), config.link().bandwidth());
    return new ServingDevice(
        ImportTarget.processor(),
        device,
        budget,
        memory -> new CpuSessionFactory(device, library, memory, config.runtime().threads()));
  }
}
