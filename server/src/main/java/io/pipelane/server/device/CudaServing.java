package io.pipelane.server.device;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.DeviceBudget;
import io.pipelane.config.section.RuntimeConfig;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.lanes.cuda.CaptureSettings;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.CudaExport;
import io.pipelane.lanes.cuda.ExecutionSettings;
import io.pipelane.lanes.cuda.PartialLanes;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.execution.CudaSessionFactory;
import io.pipelane.lanes.process.ProcessSessionFactory;
import io.pipelane.lanes.process.settings.WorkerCrew;
import io.pipelane.lanes.process.settings.WorkerSettings;
import io.pipelane.modelstore.importing.ImportTarget;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.function.IntSupplier;

/** The opening of GPUs as devices. */
final class CudaServing {
  /** What a process's context and libraries take of a GPU, about. */
  private static final ByteSize PROCESS = ByteSize.ofMebibytes(640);

  private final PipelaneConfig config;
  private final Path library;
  private final CudaDriver driver;
  private final SharedMemory transferMemory;
  private final TransferMemory transfers;
  private final IntSupplier workerIds;

  /**
   * Nothing is opened yet.
   *
   * @param transferMemory pinned; worker processes read inputs there and write outputs, unless each
   *     belongs to one owner
   * @param transfers who is lent what of it
   * @param workerIds numbers that no other worker process has
   */
  CudaServing(
      PipelaneConfig config,
      Path library,
      CudaDriver driver,
      SharedMemory transferMemory,
      TransferMemory transfers,
      IntSupplier workerIds) {
    this.config = config;
    this.library = library;
    this.driver = driver;
    this.transferMemory = transferMemory;
    this.transfers = transfers;
    this.workerIds = workerIds;
  }

  ServingDevice open(int ordinal) {
    try (CudaContext context = CudaContext.open(driver, ordinal)) {
      DeviceBudget budget = budget(config, context.freeBytes());
      return config.workers().usesProcesses(true)
          ? inWorkers(ordinal, budget)
          : inThisProcess(ordinal, budget);
    }
  }

  private ServingDevice inThisProcess(int ordinal, DeviceBudget budget) {
    CudaDevice device = CudaDevice.open(driver, ordinal, budget.weights(), budget.page());
    return new ServingDevice(
        target(config, device.context()),
        device,
        budget,
        memory ->
            new CudaSessionFactory(library, device, memory, execution(config.runtime()))
                .endingRunsAfter(config.workers().hangTimeout()));
  }

  private ServingDevice inWorkers(int ordinal, DeviceBudget budget) {
    CudaDevice device = CudaDevice.openForWorkers(driver, ordinal, budget.weights(), budget.page());
    PartialLanes partial =
        new PartialLanes(CpuServing.lanes(config, budget), config.sharing().shareSizes());
    return new ServingDevice(
        target(config, device.context()),
        device,
        budget,
        memory -> workers(device, partial, budget));
  }

  /**
   * Transfer memory is seen as a whole or not at all, so workers that are not to see each other's
   * requests have their inputs and outputs in the lane's host memory, which is one owner's at a
   * time.
   */
  private ProcessSessionFactory workers(
      CudaDevice device, PartialLanes partial, DeviceBudget budget) {
    CudaExport export = device.export(execution(config.runtime()), partial, transferMemory);
    WorkerSettings settings = CpuServing.workers(config, library, budget);
    boolean apart = settings.isMemoryApart();
    return new ProcessSessionFactory(
        device,
        apart ? export.withoutTransferMemory() : export,
        apart ? new TransferMemory(MemorySegment.NULL) : transfers,
        settings,
        workerIds);
  }

  /**
   * What one GPU is given, which has so much memory free; worker processes come off first, those
   * that leave beside their successors included, and the working memory once more for each that
   * works beside another: a lane exists in each that has run in it.
   */
  static DeviceBudget budget(PipelaneConfig config, long freeBytes) {
    if (!config.workers().usesProcesses(true)) {
      return config.device().forGpu(freeBytes);
    }
    WorkerCrew crew = CpuServing.crew(config);
    int leaving = config.workers().switchOn().keepsOwnersApart() ? crew.posts() : 0;
    long processes = (crew.size() + leaving) * PROCESS.bytes();
    long lanes = (crew.posts() - 1 + leaving) * config.device().workingMemory().bytes();
    return config.device().forGpu(Math.max(0, freeBytes - processes - lanes));
  }

  /** What a GPU's worker processes take beside its budget, for people; perhaps nothing. */
  static String workersNote(PipelaneConfig config) {
    return config.workers().usesProcesses(true)
        ? "; beside it %d worker processes, about %s of device memory each"
            .formatted(CpuServing.crew(config).size(), PROCESS)
        : "";
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
