package io.pipelane.server.device;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.config.value.DeviceSelection;
import io.pipelane.lanes.calibration.Calibration;
import io.pipelane.lanes.calibration.CalibrationFile;
import io.pipelane.lanes.calibration.Calibrator;
import io.pipelane.lanes.calibration.CpuProbe;
import io.pipelane.lanes.calibration.CudaProbe;
import io.pipelane.lanes.calibration.MatrixProducts;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import io.pipelane.runtime.ExecutionProvider;
import io.pipelane.runtime.OrtLibrary;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** The devices of this machine, to be listed and calibrated; not opened until then. */
public final class DeviceList {
  private static final ByteSize CALIBRATED = new ByteSize(Calibrator.LARGEST_COPY);

  private final PipelaneConfig config;
  private final LongSupplier nanoClock;

  /** A list under a configuration, which says what each device would be given. */
  public DeviceList(PipelaneConfig config, LongSupplier nanoClock) {
    this.config = config;
    this.nanoClock = nanoClock;
  }

  /**
   * A device of this machine.
   *
   * @param selection what {@code device.kind} would be
   * @param description what it is and what it would be given
   * @param name its name in calibrations
   * @param driver what lies between it and us, in calibrations
   * @param calibrate measures it, for about a second
   */
  public record Listed(
      String selection,
      String description,
      String name,
      String driver,
      Supplier<Calibration> calibrate) {

    /** What was measured before, or is measured now and kept. */
    public Calibration calibration(CalibrationFile file) throws IOException {
      Optional<Calibration> kept = file.read(name, driver);
      return kept.isPresent() ? kept.get() : measured(file);
    }

    /** What is measured now, and kept. */
    public Calibration measured(CalibrationFile file) throws IOException {
      Calibration measured = calibrate.get();
      file.write(measured);
      return measured;
    }
  }

  /**
   * The processor as one device.
   *
   * @param processor its name
   */
  public Listed cpu(String processor) {
    return cpus(processor, new DeviceSelection.Cpu()).getFirst();
  }

  /**
   * The processor as the devices of a selection, which are calibrated as one.
   *
   * @param processor its name
   */
  public List<Listed> cpus(String processor, DeviceSelection.Cpu selection) {
    String driver =
        "%s, Linux %s, link %s"
            .formatted(processor, System.getProperty("os.version"), config.link().bandwidth());
    List<String> names = selection.names();
    String description = processor + "; " + CpuServing.budget(config, names.size());
    return names.stream()
        .map(name -> new Listed(name, description, "cpu", driver, () -> calibrateCpu(driver)))
        .toList();
  }

  /**
   * The GPUs.
   *
   * @throws StatusException with the reason when there is none that could be used
   */
  public List<Listed> gpus() {
    CudaDriver driver = CudaDriver.load();
    List<Listed> gpus = new ArrayList<>();
    for (int i = 0; i < driver.deviceCount(); i++) {
      gpus.add(gpu(driver, i));
    }
    return gpus;
  }

  /**
   * One GPU.
   *
   * @throws StatusException with the reason when it cannot be used
   */
  public Listed gpu(int ordinal) {
    return gpu(CudaDriver.load(), ordinal);
  }

  private Listed gpu(CudaDriver driver, int ordinal) {
    String version = "driver for CUDA " + driver.versionText();
    try (CudaContext context = CudaContext.open(driver, ordinal)) {
      long free = context.freeBytes();
      String selection = "cuda:" + ordinal;
      String description =
          "%s, %s, %s of memory, %s free; %s"
              .formatted(
                  context.deviceName(),
                  version,
                  new ByteSize(context.totalBytes()),
                  new ByteSize(free),
                  CudaServing.budget(config, free) + CudaServing.workersNote(config));
      return new Listed(
          selection,
          description,
          selection + " " + context.deviceName(),
          version,
          () -> calibrateGpu(driver, ordinal, version));
    }
  }

  private Calibration calibrateCpu(String driver) {
    CpuProbe probe = new CpuProbe(products(ExecutionProvider.CPU));
    return calibrateCpu(driver, probe, new Calibrator(nanoClock));
  }

  /**
   * Measures the processor while it is served from: all but matrix products, which need ONNX
   * Runtime to themselves. Takes twice {@link Calibrator#LARGEST_COPY} of memory meanwhile.
   *
   * @param turn see {@link Calibrator}
   */
  Calibration calibrateBesideWork(Listed cpu, Runnable turn) {
    return calibrateCpu(cpu.driver(), CpuProbe.withoutProducts(), new Calibrator(nanoClock, turn));
  }

  private Calibration calibrateCpu(String driver, CpuProbe probe, Calibrator calibrator) {
    ByteSize page = config.device().forCpu(1).page();
    try (CpuDevice device =
            CpuDevice.open("cpu", CALIBRATED, page, config.link().bandwidth(), false);
        Arena arena = Arena.ofShared()) {
      return calibrator.calibrate(device, driver, arena.allocate(CALIBRATED.bytes()), probe);
    }
  }

  private Calibration calibrateGpu(CudaDriver driver, int ordinal, String version) {
    ByteSize page = config.device().forGpu(0).page();
    try (CudaDevice device = CudaDevice.open(driver, ordinal, CALIBRATED, page);
        PinnedHostMemory source = PinnedHostMemory.allocate(device.context(), CALIBRATED.bytes())) {
      ExecutionProvider provider = new ExecutionProvider.Cuda(ordinal, 0, config.runtime().tf32());
      CudaProbe probe =
          new CudaProbe(
              device.context(),
              device.persistent(),
              device::awaitMappings,
              products(provider),
              nanoClock);
      return new Calibrator(nanoClock).calibrate(device, version, source.segment(), probe);
    }
  }

  private MatrixProducts products(ExecutionProvider provider) {
    return new MatrixProducts(this::library, provider, nanoClock);
  }

  private Path library() {
    return OrtLibrary.locate(config.runtime().library(), config.repository().cache());
  }
}
