package io.pipelane.lanes;

import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.lanes.cpu.execution.CpuSessionFactory;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.CudaExport;
import io.pipelane.lanes.cuda.ExecutionSettings;
import io.pipelane.lanes.cuda.PartialLanes;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.execution.CudaSessionFactory;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.process.ProcessSessionFactory;
import io.pipelane.lanes.process.settings.WorkerSettings;
import io.pipelane.runtime.OrtLibrary;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The device that tests run on: the CPU, or what the system property {@code pipelane.test.device}
 * says: {@code workers} is the CPU with worker processes, {@code cuda} a GPU, {@code cuda-workers}
 * a GPU with worker processes.
 */
public final class TestDevices {
  private static final String CHOSEN = System.getProperty("pipelane.test.device", "");

  /** Whether tests run on a GPU. */
  public static final boolean ON_GPU = CHOSEN.startsWith("cuda");

  /** Whether sessions run in worker processes. */
  public static final boolean IN_WORKERS = CHOSEN.endsWith("workers");

  /** What workers of offline work yield to others by. */
  public static final int OFFLINE_NICE = 15;

  /** The least page of a GPU. */
  private static final long GPU_PAGE = 2L << 20;

  private static final int WORKER_LANES = 8;

  private static final Path CACHE = Path.of(System.getProperty("java.io.tmpdir"), "pipelane-test");

  /** Requests of tests may lie here. */
  private static final SharedMemory TRANSFERS = SharedMemory.allocate("test-transfers", 1 << 20);

  private TestDevices() {}

  /** Opens the device with memory for weights in pages of a size it can have. */
  public static Device open(long weightBytes, long pageBytes) {
    if (IN_WORKERS) {
      return openForWorkers(weightBytes, pageBytes);
    }
    return ON_GPU
        ? CudaDevice.open(
            CudaDriver.load(), 0, new ByteSize(weightBytes), new ByteSize(pageBytes(pageBytes)))
        : CpuDevice.open(new ByteSize(weightBytes), new ByteSize(pageBytes), Bandwidth.UNLIMITED);
  }

  /**
   * Opens two devices of one kind, in this process; skips the test on a host with one GPU.
   *
   * @throws org.opentest4j.TestAbortedException where there are not two
   */
  public static List<Device> openTwo(long weightBytes, long pageBytes) {
    ByteSize weights = new ByteSize(weightBytes);
    ByteSize page = new ByteSize(pageBytes(pageBytes));
    assumeFalse(IN_WORKERS, "workers of two devices are tested with servers");
    if (ON_GPU) {
      CudaDriver driver = CudaDriver.load();
      assumeTrue(driver.deviceCount() > 1, "there is one GPU only");
      return List.of(
          CudaDevice.open(driver, 0, weights, page), CudaDevice.open(driver, 1, weights, page));
    }
    return List.of(
        CpuDevice.open("cpu:0", weights, page, Bandwidth.UNLIMITED),
        CpuDevice.open("cpu:1", weights, page, Bandwidth.UNLIMITED));
  }

  /** ONNX Runtime's library for the CPU. */
  public static Path library() {
    return OrtLibrary.locate(Optional.empty(), CACHE);
  }

  /** Opens the device for worker processes. */
  public static SharedDevice openForWorkers(long weightBytes, long pageBytes) {
    return ON_GPU
        ? openGpuForWorkers(weightBytes, pageBytes(pageBytes))
        : openCpuForWorkers(weightBytes, pageBytes);
  }

  private static CudaDevice openGpuForWorkers(long weightBytes, long pageBytes) {
    return CudaDevice.openForWorkers(
        CudaDriver.load(),
        0,
        new ByteSize(Math.max(weightBytes, pageBytes)),
        new ByteSize(pageBytes));
  }

  private static CpuDevice openCpuForWorkers(long weightBytes, long pageBytes) {
    return CpuDevice.openForWorkers(
        new ByteSize(weightBytes), new ByteSize(pageBytes), Bandwidth.UNLIMITED);
  }

  /** Starts worker processes on a device that was opened for them. */
  public static ProcessSessionFactory workers(SharedDevice device, TestWorkers workers) {
    WorkerSettings settings = workers.settings();
    DeviceExport export = export(device);
    if (export instanceof CudaExport cuda && !settings.isMemoryApart()) {
      return new ProcessSessionFactory(
          device, cuda, new TransferMemory(TRANSFERS.segment()), settings);
    }
    return new ProcessSessionFactory(
        device,
        export instanceof CudaExport cuda ? cuda.withoutTransferMemory() : export,
        new TransferMemory(MemorySegment.NULL),
        settings);
  }

  /** Memory that worker processes on a GPU read inputs from and write outputs to. */
  public static MemorySegment transfers() {
    return TRANSFERS.segment();
  }

  /** What worker processes open a device by. */
  public static DeviceExport export(SharedDevice device) {
    return switch (device) {
      case CudaDevice cuda -> cuda.export(ExecutionSettings.DEFAULT, PartialLanes.NONE, TRANSFERS);
      case CpuDevice cpu -> cpu.export();
      default -> throw new IllegalArgumentException(device.name());
    };
  }

  /** A page size for the CPU, made large enough for the device. */
  public static long pageBytes(long onCpu) {
    return ON_GPU ? Math.max(GPU_PAGE, onCpu) : onCpu;
  }

  /** Builds sessions on a device that {@link #open} has opened. */
  public static SessionFactory sessions(Device device, DeviceMemory memory) {
    if (IN_WORKERS) {
      return workers(
          (SharedDevice) device,
          new TestWorkers(0).lanes(WORKER_LANES).hangTimeout(Duration.ofSeconds(30)));
    }
    Path library = OrtLibrary.locate(Optional.empty(), CACHE);
    return device instanceof CudaDevice cuda
        ? new CudaSessionFactory(library, cuda, memory, ExecutionSettings.DEFAULT)
        : new CpuSessionFactory((CpuDevice) device, library, memory, 1);
  }

  /** Device memory in use by the driver's account; what the device itself takes, on the CPU. */
  public static long usedBytes(Device device) {
    return device instanceof CudaDevice cuda && !IN_WORKERS
        ? cuda.driverUsedBytes()
        : device.persistent().usedBytes();
  }

  /** Settings of a server on the device, with memory and pages that it can have. */
  public static Map<String, String> settings(Map<String, String> onCpu) {
    Map<String, String> settings = new HashMap<>(onCpu);
    settings.put("workers.isolation", IN_WORKERS ? "process" : "thread");
    if (ON_GPU) {
      settings.put("device.kind", "cuda:0");
      settings.put("device.page-size", new ByteSize(GPU_PAGE).toString());
      ByteSize wanted = ByteSize.parse(onCpu.getOrDefault("device.memory", "1GiB"));
      long bytes = Math.max(GPU_PAGE, wanted.bytes());
      settings.put("device.memory", new ByteSize(bytes).toString());
    }
    return settings;
  }
}
