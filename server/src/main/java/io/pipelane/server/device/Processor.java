package io.pipelane.server.device;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** The processor of this machine, in words. */
public final class Processor {
  private static final Path PROCESSORS = Path.of("/proc/cpuinfo");

  private Processor() {}

  public static String description() {
    return name() + ", " + Runtime.getRuntime().availableProcessors() + " cores";
  }

  /** The model's name where the system tells it, else the architecture. */
  static String name() {
    String architecture = System.getProperty("os.arch", "unknown");
    if (!Files.isReadable(PROCESSORS)) {
      return architecture;
    }
    try (Stream<String> lines = Files.lines(PROCESSORS)) {
      return lines
          .filter(line -> line.startsWith("model name"))
          .map(line -> line.substring(line.indexOf(':') + 1).strip())
          .findFirst()
          .orElse(architecture);
    } catch (IOException e) {
      return architecture + " (" + e.getMessage() + ")";
    }
  }
}
