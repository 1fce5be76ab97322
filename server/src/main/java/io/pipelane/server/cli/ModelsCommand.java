package io.pipelane.server.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Lists what a running server knows. */
@Command(name = "models", description = "List the models of a running server.")
final class ModelsCommand implements Subcommand {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Mixin private ServerAddress address = new ServerAddress();

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    TextTable table = new TextTable("MODEL", "VERSION", "STATE", "INPUTS", "OUTPUTS", "NOTES");
    try (ServerClient client = address.connect()) {
      JsonNode index =
          client.post(ServerClient.JSON.createObjectNode(), "v2", "repository", "index");
      for (JsonNode entry : index) {
        String name = entry.path("name").asText();
        String version = entry.path("version").asText();
        String state = entry.path("state").asText();
        JsonNode metadata =
            state.equals("READY")
                ? client.get("v2", "models", name, "versions", version)
                : ServerClient.JSON.createObjectNode();
        table.add(
            name,
            version,
            state,
            signature(metadata.path("inputs")),
            signature(metadata.path("outputs")),
            notes(entry));
      }
      if (index.isEmpty()) {
        out.println("The server has no models.");
      } else {
        table.print(out);
      }
    }
    out.flush();
    return 0;
  }

  /** Why it is not READY, or what its owner should know. */
  private static String notes(JsonNode entry) {
    List<String> parts = new ArrayList<>();
    parts.add(entry.path("reason").asText());
    entry.path("notes").forEach(note -> parts.add(note.asText()));
    parts.removeIf(String::isEmpty);
    return String.join("; ", parts);
  }

  private static String signature(JsonNode tensors) {
    List<String> parts = new ArrayList<>();
    tensors.forEach(tensor -> parts.add(TensorDeclaration.of(tensor).toString()));
    return String.join(", ", parts);
  }
}
