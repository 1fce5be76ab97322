package io.pipelane.server.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code pipelane delete}: takes a version of a model out of service and deletes it. */
@Command(
    name = "delete",
    description =
        "Take a version of a model out of service, and delete it from the server's repository"
            + " (repository.upload).")
final class DeleteCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ServerAddress address = new ServerAddress();

  @Parameters(
      index = "0",
      paramLabel = "MODEL",
      description = "The model's name; models lists them.")
  private String model = "";

  @Parameters(index = "1", paramLabel = "VERSION", description = "The version, a number.")
  private long version;

  @Override
  public Integer call() {
    try (ServerClient client = address.connect()) {
      client.delete("v2", "repository", "models", model, "versions", Long.toString(version));
    }
    spec.commandLine().getOut().println("Deleted " + model + "/" + version + ".");
    spec.commandLine().getOut().flush();
    return 0;
  }
}
