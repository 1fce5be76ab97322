package io.pipelane.loadgen.report;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The machine that generated the load.
 *
 * @param gpus name, driver and memory of each, as the driver's tool tells them; empty without it
 */
public record Machine(
    int cores,
    String processor,
    long memoryBytes,
    List<String> gpus,
    String operatingSystem,
    String java) {
  private static final Path PROCESSORS = Path.of("/proc/cpuinfo");

  /** The machine that this runs on. */
  public static Machine current() {
    OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    return new Machine(
        Runtime.getRuntime().availableProcessors(),
        processorName().orElse(System.getProperty("os.arch", "unknown")),
        system.getTotalMemorySize(),
        CommandOutput.of(
                "nvidia-smi",
                "--query-gpu=name,driver_version,memory.total",
                "--format=csv,noheader")
            .map(output -> output.lines().toList())
            .orElse(List.of()),
        System.getProperty("os.name") + " " + System.getProperty("os.version"),
        System.getProperty("java.vm.name") + " " + Runtime.version());
  }

  private static Optional<String> processorName() {
    try (Stream<String> lines = Files.lines(PROCESSORS)) {
      return lines
          .filter(line -> line.startsWith("model name"))
          .map(line -> line.substring(line.indexOf(':') + 1).strip())
          .findFirst();
    } catch (IOException | UncheckedIOException e) {
      return Optional.empty();
    }
  }
}
