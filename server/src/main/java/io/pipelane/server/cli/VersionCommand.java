package io.pipelane.server.cli;

import io.pipelane.config.ConfigLoader;
import io.pipelane.config.ConfigLocation;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.NoDeviceMemory;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.server.device.Processor;
import io.pipelane.server.protocol.ProductVersion;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Says what runs on what: what a report of a fault should begin with. */
@Command(
    name = "version",
    description = "Print the versions of Pipelane, ONNX Runtime and Java, and the machine.")
final class VersionCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() {
    PipelaneConfig config =
        ConfigLoader.load(
                ConfigLocation.of(null, ConfigLocation.OF_THE_SYSTEM), System.getenv(), Map.of())
            .config();
    PrintWriter out = spec.commandLine().getOut();
    out.println("Pipelane      " + ProductVersion.get());
    out.println("ONNX Runtime  " + onnxRuntime(config));
    out.println("Java          " + Runtime.version() + ", " + property("java.vm.name"));
    out.println("System        " + property("os.name") + " " + property("os.version"));
    out.println("Processor     " + Processor.description());
    out.flush();
    return 0;
  }

  private static String onnxRuntime(PipelaneConfig config) {
    try {
      Path library = OrtLibrary.locate(config.runtime().library(), config.repository().cache());
      try (OrtEnvironment environment = OrtEnvironment.open(library, new NoDeviceMemory())) {
        return environment.version();
      }
    } catch (StatusException | UncheckedIOException e) {
      return "not available: " + e.getMessage();
    }
  }

  private static String property(String name) {
    return System.getProperty(name, "unknown");
  }
}
