package io.pipelane.bench.accelerator;

import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.calibration.Calibrator;
import io.pipelane.lanes.calibration.CudaProbe;
import io.pipelane.lanes.calibration.MatrixProducts;
import io.pipelane.lanes.cuda.CaptureSettings;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.CudaHostMemory;
import io.pipelane.lanes.cuda.ExecutionSettings;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import io.pipelane.lanes.cuda.execution.CudaSession;
import io.pipelane.lanes.cuda.execution.CudaSessionFactory;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.host.HostMemory;
import io.pipelane.modelstore.importing.ImportTarget;
import io.pipelane.runtime.ExecutionProvider;
import io.pipelane.switcher.grouping.PipelineCosts;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A GPU. */
public final class CudaAccelerator implements Accelerator {
  private static final boolean TF32 = true;
  private static final long WORKING_BYTES = 8L << 30;
  private static final double NANOS_PER_MILLI = 1e6;

  private final Path library;
  private final CudaDriver driver;
  private final CudaDevice device;
  private final @Nullable SharedTransfers transfers;
  private final List<PinnedHostMemory> pinned = new ArrayList<>();

  CudaAccelerator(Path library, int index, ByteSize weights, ByteSize page) {
    this.library = library;
    driver = CudaDriver.load();
    device = CudaDevice.open(driver, index, weights, page);
    transfers = null;
  }

  /** The same device, with memory of its own that worker processes share. */
  private CudaAccelerator(CudaAccelerator beside) {
    library = beside.library;
    driver = beside.driver;
    ByteSize page = new ByteSize(beside.device.pages().pageBytes());
    ByteSize weights = new ByteSize(beside.device.pages().total() * page.bytes());
    device = CudaDevice.openForWorkers(driver, beside.context().index(), weights, page);
    transfers = new SharedTransfers(device.context());
  }

  @Override
  public Accelerator inWorkers() {
    return new CudaAccelerator(this);
  }

  @Override
  public Device device() {
    return device;
  }

  /** The context that its work is in. */
  public CudaContext context() {
    return device.context();
  }

  @Override
  public ExecutionProvider provider() {
    return new ExecutionProvider.Cuda(context().index(), 0, TF32);
  }

  @Override
  public SessionFactory sessions(DeviceMemory memory, boolean captures) {
    CaptureSettings settings = captures ? CaptureSettings.DEFAULT : CaptureSettings.NEVER;
    ExecutionSettings execution =
        new ExecutionSettings(TF32, ExecutionSettings.DEFAULT.cublasWorkspace(), settings);
    return transfers == null
        ? new CudaSessionFactory(library, device, memory, execution)
        : transfers.workers(device, library, execution);
  }

  @Override
  public Optional<double[]> segmentMillis(ModelSession session) {
    return session instanceof CudaSession cuda
        ? cuda.captures().stream()
            .findFirst()
            .map(c -> c.segmentTimes().stream().mapToDouble(CudaAccelerator::millis).toArray())
        : Optional.empty();
  }

  private static double millis(Duration time) {
    return time.toNanos() / NANOS_PER_MILLI;
  }

  @Override
  public ImportTarget target() {
    return ImportTarget.cuda(context().index(), TF32, context().deviceName());
  }

  @Override
  public boolean captures() {
    return true;
  }

  @Override
  public PipelineCosts costs() {
    LongSupplier clock = System::nanoTime;
    CudaProbe probe =
        new CudaProbe(
            context(),
            device.persistent(),
            device::awaitMappings,
            new MatrixProducts(() -> library, provider(), clock),
            clock);
    MemorySegment source = pinned(Calibrator.LARGEST_COPY);
    return PipelineCosts.gpu(
        new Calibrator(clock).calibrate(device, driver.versionText(), source, probe));
  }

  @Override
  public void settle() {
    device.awaitMappings();
  }

  @Override
  public synchronized MemorySegment pinned(long bytes) {
    if (transfers != null) {
      return transfers.take(bytes);
    }
    PinnedHostMemory memory = PinnedHostMemory.allocate(context(), bytes);
    pinned.add(memory);
    return memory.segment();
  }

  @Override
  public HostMemory tables() {
    return new CudaHostMemory(context());
  }

  @Override
  public long workingBytes() {
    return WORKING_BYTES;
  }

  @Override
  public Map<String, String> description() {
    Map<String, String> values = new LinkedHashMap<>();
    values.put("device", device.name());
    values.put("driver", "CUDA " + driver.versionText());
    values.put("page", new ByteSize(device.pages().pageBytes()).toString());
    values.put("precision", TF32 ? "FP32, products in TF32" : "FP32");
    return values;
  }

  @Override
  public Map<String, String> serverSettings() {
    return Map.of("device.kind", "cuda:" + context().index());
  }

  @Override
  public void close() {
    pinned.forEach(PinnedHostMemory::close);
    if (transfers != null) {
      transfers.close();
    }
    device.close();
  }
}
