package io.pipelane.server.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Puts a model of a running server in service. */
@Command(
    name = "load",
    description = "Import what is new or changed of a model, and put it in service.")
final class LoadCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ServerAddress address = new ServerAddress();

  @Parameters(paramLabel = "MODEL")
  private String model = "";

  @Override
  public Integer call() {
    try (ServerClient client = address.connect()) {
      client.post(
          ServerClient.JSON.createObjectNode(), "v2", "repository", "models", model, "load");
    }
    spec.commandLine().getOut().println("Model " + model + " is in service.");
    spec.commandLine().getOut().flush();
    return 0;
  }
}
