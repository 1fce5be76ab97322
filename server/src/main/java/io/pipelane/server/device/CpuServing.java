package io.pipelane.server.device;

import io.pipelane.config.DeviceBudget;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.WorkersConfig;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.CpuSessionFactory;
import io.pipelane.lanes.process.ProcessSessionFactory;
import io.pipelane.lanes.process.WorkerSettings;
import io.pipelane.lanes.process.worker.WorkerMain;
import io.pipelane.modelstore.importing.ImportTarget;
import java.nio.file.Path;

/** Opens the processor as a device. */
final class CpuServing {
  private CpuServing() {}

  static ServingDevice open(PipelaneConfig config, Path library) {
    DeviceBudget budget = config.device().forCpu(Runtime.getRuntime().availableProcessors());
    return config.workers().usesProcesses(false)
        ? inWorkers(config, library, budget)
        : inThisProcess(config, library, budget);
  }

  private static ServingDevice inThisProcess(
      PipelaneConfig config, Path library, DeviceBudget budget) {
    CpuDevice device = CpuDevice.open(budget.weights(), budget.page(), config.link().bandwidth());
    return new ServingDevice(
        ImportTarget.processor(),
        device,
        budget,
        memory -> new CpuSessionFactory(device, library, memory, config.runtime().threads()));
  }

  private static ServingDevice inWorkers(PipelaneConfig config, Path library, DeviceBudget budget) {
    CpuDevice device =
        CpuDevice.openForWorkers(budget.weights(), budget.page(), config.link().bandwidth());
    WorkerSettings settings = workers(config, library, budget);
    return new ServingDevice(
        ImportTarget.processor(),
        device,
        budget,
        memory -> new ProcessSessionFactory(device, settings));
  }

  /** How a configuration has worker processes of a device run. */
  static WorkerSettings workers(PipelaneConfig config, Path library, DeviceBudget budget) {
    WorkersConfig workers = config.workers();
    return new WorkerSettings(
        WorkerMain.class,
        library,
        config.runtime().threads(),
        config.scheduling().preemption() ? 2 * budget.lanes() : budget.lanes(),
        workers.switchOn(),
        workers.chosenStandbys(),
        workers.hangTimeout(),
        workers.startTimeout(),
        workers.heap());
  }
}
