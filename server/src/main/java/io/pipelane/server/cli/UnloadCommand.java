package io.pipelane.server.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code pipelane unload}: puts a model of a running server out of service. */
@Command(name = "unload", description = "Take a model out of service until it is loaded again.")
final class UnloadCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ServerAddress address = new ServerAddress();

  @Parameters(paramLabel = "MODEL", description = "The model's name; models lists them.")
  private String model = "";

  @Option(
      names = "--dependents",
      description = "An ensemble's models, too, that came into service for it alone.")
  private boolean dependents;

  @Override
  public Integer call() {
    ObjectNode body = ServerClient.JSON.createObjectNode();
    if (dependents) {
      body.putObject("parameters").put("unload_dependents", true);
    }
    try (ServerClient client = address.connect()) {
      client.change(body, "v2", "repository", "models", model, "unload");
    }
    spec.commandLine().getOut().println("Model " + model + " is out of service.");
    spec.commandLine().getOut().flush();
    return 0;
  }
}
