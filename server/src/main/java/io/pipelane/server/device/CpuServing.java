package io.pipelane.server.device;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.DeviceBudget;
import io.pipelane.config.section.SharingConfig;
import io.pipelane.config.section.WorkersConfig;
import io.pipelane.config.section.WorkersConfig.Offline;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.ProcessPriority;
import io.pipelane.lanes.cpu.execution.CpuRuntime;
import io.pipelane.lanes.cpu.execution.CpuSessionFactory;
import io.pipelane.lanes.process.ProcessSessionFactory;
import io.pipelane.lanes.process.settings.Launcher;
import io.pipelane.lanes.process.settings.WorkerCrew;
import io.pipelane.lanes.process.settings.WorkerProgram;
import io.pipelane.lanes.process.settings.WorkerSettings;
import io.pipelane.lanes.process.settings.WorkerTimes;
import io.pipelane.lanes.process.worker.WorkerMain;
import io.pipelane.modelstore.importing.ImportTarget;
import io.pipelane.switcher.SwitcherSettings;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/** The opening of the processor as a device, or as several. */
final class CpuServing {
  private static final int PROCESSORS_PER_BUILD = 4;

  private final PipelaneConfig config;
  private final Path library;
  private final DeviceBudget budget;
  private final IntSupplier workerIds;
  private final @Nullable CpuRuntime runtime;

  /**
   * Loads ONNX Runtime where several devices share it; nothing else is opened yet.
   *
   * @param devices how many there will be
   * @param opened takes what has to be closed after the devices
   * @param workerIds numbers that no other worker process has
   */
  CpuServing(
      PipelaneConfig config, Path library, int devices, OpenParts opened, IntSupplier workerIds) {
    this.config = config;
    this.library = library;
    this.budget = budget(config, devices);
    this.workerIds = workerIds;
    boolean shared = devices > 1 && !config.workers().usesProcesses(false);
    this.runtime = shared ? opened.add(new CpuRuntime(library)) : null;
  }

  /** What each of so many devices is given. */
  static DeviceBudget budget(PipelaneConfig config, int devices) {
    return config.device().forCpu(Runtime.getRuntime().availableProcessors(), devices);
  }

  ServingDevice open(String name) {
    return config.workers().usesProcesses(false) ? inWorkers(name) : inThisProcess(name);
  }

  private ServingDevice inThisProcess(String name) {
    CpuDevice device =
        CpuDevice.open(
            name,
            budget.weights(),
            budget.page(),
            config.link().bandwidth(),
            config.switching().mapWeights() && config.residency().prefetch());
    int threads = config.runtime().threads();
    return new ServingDevice(
        ImportTarget.processor(),
        device,
        budget,
        memory ->
            (runtime == null
                    ? new CpuSessionFactory(device, library, memory, threads)
                    : runtime.sessions(device, memory, threads))
                .endingRunsAfter(config.workers().hangTimeout()));
  }

  private ServingDevice inWorkers(String name) {
    CpuDevice device =
        CpuDevice.openForWorkers(name, budget.weights(), budget.page(), config.link().bandwidth());
    WorkerSettings settings = workers(config, library, budget);
    return new ServingDevice(
        ImportTarget.processor(),
        device,
        budget,
        memory ->
            new ProcessSessionFactory(
                device,
                device.export(),
                new TransferMemory(MemorySegment.NULL),
                settings,
                workerIds));
  }

  /** The lanes of a device that runs keep to the whole of. */
  static int lanes(PipelaneConfig config, DeviceBudget budget) {
    return SwitcherSettings.allLanes(budget.lanes(), config.scheduling(), config.sharing());
  }

  /** How a configuration has worker processes of a device run. */
  static WorkerSettings workers(PipelaneConfig config, Path library, DeviceBudget budget) {
    WorkersConfig workers = config.workers();
    return new WorkerSettings(
        new WorkerProgram(
            WorkerMain.class, library, config.runtime().threads(), workers.heap(), Launcher.SYSTEM),
        lanes(config, budget) + config.sharing().shareSizes().size(),
        workers.switchOn(),
        crew(config),
        WorkerTimes.of(workers.hangTimeout(), workers.startTimeout()));
  }

  /** A device's worker processes, where models run in them; runs keep most of the processors. */
  static WorkerCrew crew(PipelaneConfig config) {
    WorkersConfig workers = config.workers();
    SharingConfig sharing = config.sharing();
    return new WorkerCrew(
        workers.standbys(),
        workers.offline() == Offline.OWN,
        new ProcessPriority(sharing.offlineNice(), sharing.offlineProcessors()),
        Runtime.getRuntime().availableProcessors() / PROCESSORS_PER_BUILD);
  }
}
