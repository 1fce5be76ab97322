package io.pipelane.loadgen.report;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/** The machine that generated the load. */
public record Machine(int cores, String processor, String operatingSystem, String java) {
  private static final Path PROCESSORS = Path.of("/proc/cpuinfo");

  /** The machine that this runs on. */
  public static Machine current() {
    return new Machine(
        Runtime.getRuntime().availableProcessors(),
        processorName().orElse(System.getProperty("os.arch", "unknown")),
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
