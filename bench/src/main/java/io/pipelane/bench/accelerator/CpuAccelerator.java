package io.pipelane.bench.accelerator;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.calibration.Calibrator;
import io.pipelane.lanes.calibration.CpuProbe;
import io.pipelane.lanes.calibration.MatrixProducts;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.execution.CpuSessionFactory;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.process.ProcessSessionFactory;
import io.pipelane.modelstore.importing.ImportTarget;
import io.pipelane.runtime.ExecutionProvider;
import io.pipelane.switcher.grouping.PipelineCosts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/** The processor under a device's rules. */
final class CpuAccelerator implements Accelerator {
  private static final long WORKING_BYTES = 2L << 30;

  private final Path library;
  private final Bandwidth link;
  private final boolean inWorker;
  private final CpuDevice device;

  CpuAccelerator(Path library, ByteSize weights, ByteSize page, Bandwidth link) {
    this.library = library;
    this.link = link;
    inWorker = false;
    device = CpuDevice.open("cpu", weights, page, link, false); // Copies are measured.
  }

  /** The same, with memory of its own that a worker process shares. */
  private CpuAccelerator(CpuAccelerator beside) {
    library = beside.library;
    link = beside.link;
    inWorker = true;
    ByteSize page = new ByteSize(beside.device.pages().pageBytes());
    ByteSize weights = new ByteSize(beside.device.pages().total() * page.bytes());
    device = CpuDevice.openForWorkers(weights, page, link);
  }

  @Override
  public Device device() {
    return device;
  }

  @Override
  public ExecutionProvider provider() {
    return ExecutionProvider.CPU;
  }

  @Override
  public SessionFactory sessions(DeviceMemory memory, boolean captures) {
    return inWorker
        ? new ProcessSessionFactory(device, OneWorker.settings(library))
        : new CpuSessionFactory(device, library, memory, 1);
  }

  @Override
  public Accelerator inWorkers() {
    return new CpuAccelerator(this);
  }

  @Override
  public ImportTarget target() {
    return ImportTarget.processor();
  }

  @Override
  public boolean captures() {
    return false;
  }

  @Override
  public Optional<double[]> segmentMillis(ModelSession session) {
    return Optional.empty();
  }

  @Override
  public PipelineCosts costs() {
    LongSupplier clock = System::nanoTime;
    CpuProbe probe = new CpuProbe(new MatrixProducts(() -> library, provider(), clock));
    MemorySegment source = pinned(Calibrator.LARGEST_COPY);
    return PipelineCosts.processor(
        new Calibrator(clock).calibrate(device, "benchmark", source, probe));
  }

  @Override
  public void settle() {
    // Pages are mapped and unmapped at once.
  }

  @Override
  public MemorySegment pinned(long bytes) {
    return Arena.ofAuto().allocate(bytes, 64);
  }

  @Override
  public long workingBytes() {
    return WORKING_BYTES;
  }

  @Override
  public Map<String, String> description() {
    return Map.of("device", device.name());
  }

  @Override
  public Map<String, String> serverSettings() {
    return Map.of("device.kind", "cpu");
  }

  @Override
  public void close() {
    device.close();
  }
}
