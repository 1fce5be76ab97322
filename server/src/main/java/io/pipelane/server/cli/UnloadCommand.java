package io.pipelane.server.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Puts a model of a running server out of service. */
@Command(name = "unload", description = "Take a model out of service until it is loaded again.")
final class UnloadCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ServerAddress address = new ServerAddress();

  @Parameters(paramLabel = "MODEL")
  private String model = "";

  @Override
  public Integer call() {
    try (ServerClient client = address.connect()) {
      client.post(
          ServerClient.JSON.createObjectNode(), "v2", "repository", "models", model, "unload");
    }
    spec.commandLine().getOut().println("Model " + model + " is out of service.");
    spec.commandLine().getOut().flush();
    return 0;
  }
}
