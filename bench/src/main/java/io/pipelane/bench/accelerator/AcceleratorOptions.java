package io.pipelane.bench.accelerator;

import io.pipelane.config.ConfigLoader;
import io.pipelane.config.section.SwitchingConfig.ReadInPlace;
import io.pipelane.config.value.DeviceSelection;
import io.pipelane.runtime.ExecutionProvider;
import io.pipelane.runtime.OrtLibrary;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that say which device is measured, and with which requests. */
public final class AcceleratorOptions {
  @Option(
      names = "--device",
      paramLabel = "DEVICE",
      description = "As device.kind is written: cpu, cuda or cuda:N (${DEFAULT-VALUE}).")
  private String device;

  @Option(
      names = "--page-size",
      paramLabel = "SIZE",
      description = "Of device memory; 16MiB on a GPU and 2MiB on the CPU unless told otherwise.")
  private @Nullable String pageSize;

  @Option(
      names = "--working-memory",
      paramLabel = "SIZE",
      description = "A server's device.working-memory, where it is not to choose.")
  private @Nullable String workingMemory;

  @Option(
      names = "--transfer-memory",
      paramLabel = "SIZE",
      description = "A server's server.transfer-memory, where it is not the standard one.")
  private @Nullable String transferMemory;

  @Option(
      names = "--batch",
      paramLabel = "N",
      description = "Rows a request, but of the demo's cases (${DEFAULT-VALUE}).")
  private int batch;

  @Option(
      names = "--sequence",
      paramLabel = "N",
      description = "Tokens a row, for models of text (${DEFAULT-VALUE}).")
  private int sequence = 128;

  @Option(
      names = "--read-in-place",
      paramLabel = "WHO",
      description = "Who reads tables in host memory: processor, all or none (${DEFAULT-VALUE}).")
  private ReadInPlace readInPlace = ReadInPlace.PROCESSOR;

  /** Options of requests with eight rows, unless they say otherwise. */
  public AcceleratorOptions() {
    this(8);
  }

  /** Options of requests with so many rows, unless they say otherwise. */
  public AcceleratorOptions(int batch) {
    this("cpu", batch);
  }

  private AcceleratorOptions(String device, int batch) {
    this.device = device;
    this.batch = batch;
  }

  /** Options of several devices, and of requests with a row, unless they say otherwise. */
  public static AcceleratorOptions ofSeveral() {
    return new AcceleratorOptions("cpu:0,1", 1);
  }

  /** The device. */
  public DeviceSelection device() {
    return DeviceSelection.parse(device);
  }

  /**
   * The numbers of several devices.
   *
   * @throws IllegalArgumentException when there is one, or it is not said which
   */
  public List<Integer> ordinals() {
    List<Integer> ordinals =
        switch (device()) {
          case DeviceSelection.Cpu cpu -> cpu.ordinals();
          case DeviceSelection.Cuda cuda -> cuda.ordinals();
          case DeviceSelection.Auto _ -> List.of();
        };
    if (ordinals.size() < 2) {
      throw new IllegalArgumentException(
          "--device names several, such as cpu:0,1 or cuda:0,1: " + device);
    }
    return ordinals;
  }

  /** Whether the device reads tables in host memory. */
  public boolean readsInPlace() {
    return device() instanceof DeviceSelection.Cpu
        ? readInPlace.byProcessors()
        : readInPlace.byGpus();
  }

  /** The size of its pages; null for what is usual there. */
  public @Nullable String pageSize() {
    return pageSize;
  }

  /** Rows a request, but of the demo's cases. */
  public int batch() {
    return batch;
  }

  /** A model of a folder, and requests for it. */
  public ModelCase modelCase(Path repository, String model) {
    return modelCase(repository, model, batch);
  }

  /** A model of a folder, and requests of so many rows for it. */
  public ModelCase modelCase(Path repository, String model, int rows) {
    return ModelCase.of(repository, model, rows, sequence);
  }

  /** What a plain session on the same device runs on. */
  public ExecutionProvider provider() {
    return switch (device()) {
      case DeviceSelection.Cpu _ -> ExecutionProvider.CPU;
      case DeviceSelection.Cuda cuda ->
          new ExecutionProvider.Cuda(cuda.ordinals().getFirst(), 0, true);
      case DeviceSelection.Auto auto ->
          throw new IllegalArgumentException("--device: say which, " + auto + " is not measured");
    };
  }

  /**
   * The device in a server's configuration.
   *
   * @param work where ONNX Runtime is unpacked
   */
  public Map<String, String> serverSettings(Path work) {
    Map<String, String> settings = new HashMap<>();
    settings.put("device.kind", device);
    settings.put("switching.read-in-place", readInPlace.name().toLowerCase(Locale.ROOT));
    if (pageSize != null) {
      settings.put("device.page-size", pageSize);
    }
    if (workingMemory != null) {
      settings.put("device.working-memory", workingMemory);
    }
    if (transferMemory != null) {
      settings.put("server.transfer-memory", transferMemory);
    }
    if (!(device() instanceof DeviceSelection.Cpu)) { // The providers lie beside the library.
      Path folder = library(work).toAbsolutePath().resolveSibling("");
      settings.put("runtime.library", folder.toString());
    }
    return settings;
  }

  /**
   * ONNX Runtime's library; a configured folder wins over the class path, as for a server.
   *
   * @param work where one of the class path is unpacked
   */
  public static Path library(Path work) {
    Optional<Path> configured =
        ConfigLoader.load(null, System.getenv(), Map.of()).config().runtime().library();
    return OrtLibrary.locate(configured, work.resolve("cache"));
  }
}
