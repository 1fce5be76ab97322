package io.pipelane.modelstore.importing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The processor that optimised graphs are made for: its model and instruction sets. */
final class Processor {
  private static final Path CPU_INFO = Path.of("/proc/cpuinfo");

  private Processor() {}

  /** A text that differs between processors on which ONNX Runtime may optimise differently. */
  static String identity() {
    String architecture = System.getProperty("os.arch");
    try (Stream<String> lines = Files.lines(CPU_INFO)) {
      return lines
          .takeWhile(line -> !line.isBlank())
          .filter(Processor::tellsKind)
          .collect(Collectors.joining("\n", architecture + "\n", ""));
    } catch (IOException e) {
      return architecture;
    }
  }

  private static boolean tellsKind(String line) {
    return Stream.of("vendor_id", "cpu family", "model", "flags", "Features", "CPU ")
        .anyMatch(line::startsWith);
  }
}
