package io.pipelane.server.cli;

import io.pipelane.config.ConfigLoader;
import io.pipelane.config.PipelaneConfig;
import java.io.PrintWriter;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Lists what this machine can serve on. */
@Command(name = "devices", description = "List the devices that this machine can serve on.")
final class DevicesCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() {
    PipelaneConfig config = ConfigLoader.load(null, System.getenv(), Map.of()).config();
    PrintWriter out = spec.commandLine().getOut();
    out.printf("%-8s %s%n", "DEVICE", "WHAT IT IS");
    out.printf(
        "%-8s %s; %s%n",
        "cpu",
        Processor.description(),
        config.device().forCpu(Runtime.getRuntime().availableProcessors()));
    out.println("cuda     not served by this version");
    out.flush();
    return 0;
  }
}
