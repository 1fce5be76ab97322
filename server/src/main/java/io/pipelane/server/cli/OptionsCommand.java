package io.pipelane.server.cli;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * {@code pipelane options}: shows what holds for all versions of a model in a server's repository,
 * or changes it.
 */
@Command(
    name = "options",
    description =
        "Show a model's options, pipelane.yaml, in a server's repository, or put others in their"
            + " place (repository.upload); they count from the model's next load on.")
final class OptionsCommand implements Subcommand {
  private static final String YAML = "application/yaml";

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ServerAddress address = new ServerAddress();

  @Parameters(
      index = "0",
      paramLabel = "MODEL",
      description = "The model's name; models lists them.")
  private String model = "";

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "FILE",
      description = "The new options; those that hold are printed without it.")
  private @Nullable Path file;

  @Override
  public Integer call() {
    String[] path = {"v2", "repository", "models", model, "options"};
    PrintWriter out = spec.commandLine().getOut();
    try (ServerClient client = address.connect()) {
      if (file == null) {
        out.print(new String(client.bytes(path), StandardCharsets.UTF_8));
      } else {
        client.put(file, YAML, _ -> {}, path);
        out.println("Stored. They count from the next load on: pipelane load " + model);
      }
    } catch (IOException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, file + " cannot be read: " + e.getMessage(), e);
    }
    out.flush();
    return 0;
  }
}
