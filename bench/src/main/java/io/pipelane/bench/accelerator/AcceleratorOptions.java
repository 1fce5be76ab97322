package io.pipelane.bench.accelerator;

import io.pipelane.config.ConfigLoader;
import io.pipelane.config.DeviceSelection;
import io.pipelane.runtime.OrtLibrary;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that say which device is measured, and with which requests. */
public final class AcceleratorOptions {
  @Option(
      names = "--device",
      paramLabel = "DEVICE",
      description = "cpu, cuda or cuda:N (${DEFAULT-VALUE}).")
  private String device = "cpu";

  @Option(
      names = "--page-size",
      paramLabel = "SIZE",
      description = "Of device memory; 16MiB on a GPU and 2MiB on the CPU unless told otherwise.")
  private @Nullable String pageSize;

  @Option(
      names = "--repository",
      paramLabel = "FOLDER",
      description = "The models' folder (${DEFAULT-VALUE}).")
  private Path repository = Path.of("zoo");

  @Option(names = "--batch", paramLabel = "N", description = "Rows a request (${DEFAULT-VALUE}).")
  private int batch = 8;

  @Option(
      names = "--sequence",
      paramLabel = "N",
      description = "Tokens a row, for models of text (${DEFAULT-VALUE}).")
  private int sequence = 128;

  /** The device. */
  public DeviceSelection device() {
    return DeviceSelection.parse(device);
  }

  /** The size of its pages; null for what is usual there. */
  public @Nullable String pageSize() {
    return pageSize;
  }

  /** A model of the folder, and requests for it. */
  public ModelCase modelCase(String model) {
    return ModelCase.of(repository.toAbsolutePath().normalize(), model, batch, sequence);
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
