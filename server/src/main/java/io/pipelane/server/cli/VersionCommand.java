package io.pipelane.server.cli;

import io.pipelane.config.ConfigLoader;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.DeviceAllocator;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtLibrary;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Says what runs on what: what a report of a fault should begin with. */
@Command(
    name = "version",
    description = "Print the versions of Pipelane, ONNX Runtime and Java, and the machine.")
final class VersionCommand implements Subcommand {
  private static final Path PROCESSORS = Path.of("/proc/cpuinfo");

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() {
    PipelaneConfig config = ConfigLoader.load(null, System.getenv(), Map.of()).config();
    PrintWriter out = spec.commandLine().getOut();
    out.println("Pipelane      " + ProductVersion.read());
    out.println("ONNX Runtime  " + onnxRuntime(config));
    out.println("Java          " + Runtime.version() + ", " + property("java.vm.name"));
    out.println("System        " + property("os.name") + " " + property("os.version"));
    out.println("Processor     " + processor());
    out.flush();
    return 0;
  }

  private static String onnxRuntime(PipelaneConfig config) {
    try {
      Path library = OrtLibrary.locate(config.runtime().library(), config.repository().cache());
      try (OrtEnvironment environment = OrtEnvironment.open(library, new NoMemory())) {
        return environment.version();
      }
    } catch (StatusException | UncheckedIOException e) {
      return "not available: " + e.getMessage();
    }
  }

  /** Asking for the version allocates nothing on a device. */
  private static final class NoMemory implements DeviceAllocator {
    @Override
    public long allocate(long bytes) {
      return 0;
    }

    @Override
    public void free(long address) {}
  }

  private static String property(String name) {
    return System.getProperty(name, "unknown");
  }

  private static String processor() {
    int cores = Runtime.getRuntime().availableProcessors();
    String model = property("os.arch");
    if (Files.isReadable(PROCESSORS)) {
      try (Stream<String> lines = Files.lines(PROCESSORS)) {
        model =
            lines
                .filter(line -> line.startsWith("model name"))
                .map(line -> line.substring(line.indexOf(':') + 1).strip())
                .findFirst()
                .orElse(model);
      } catch (IOException e) {
        return model + ", " + cores + " cores (" + e.getMessage() + ")";
      }
    }
    return model + ", " + cores + " cores";
  }
}
