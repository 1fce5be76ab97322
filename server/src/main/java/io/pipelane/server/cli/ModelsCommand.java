package io.pipelane.server.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Lists what a running server knows. */
@Command(name = "models", description = "List the models of a running server.")
final class ModelsCommand implements Subcommand {
  private static final int MOST_TRIES = 5;
  private static final Duration LONGEST_WAIT = Duration.ofMinutes(1);

  @Spec private CommandSpec spec = CommandSpec.create();

  @Mixin private ServerAddress address = new ServerAddress();

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    LeftAlignedTable table =
        new LeftAlignedTable("MODEL", "VERSION", "STATE", "INPUTS", "OUTPUTS", "NOTES");
    try (ServerClient client = address.connect()) {
      JsonNode index =
          client.post(ServerClient.JSON.createObjectNode(), "v2", "repository", "index");
      for (JsonNode entry : index) {
        String name = entry.path("name").asText();
        String version = entry.path("version").asText();
        String state = entry.path("state").asText();
        String missing = "";
        JsonNode metadata = ServerClient.JSON.createObjectNode();
        if (state.equals("READY")) {
          try {
            metadata = described(client, name, version);
          } catch (StatusException e) { // The others are listed all the same.
            missing = "not described: " + e.getMessage();
          }
        }
        table.add(
            name,
            version,
            state,
            signature(metadata.path("inputs")),
            signature(metadata.path("outputs")),
            notes(entry, missing));
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

  /** What a version's metadata say; waits where the key has asked too much for now. */
  private static JsonNode described(ServerClient client, String name, String version) {
    for (int tries = 1; ; tries++) {
      try {
        return client.get("v2", "models", name, "versions", version);
      } catch (StatusException e) {
        Duration wait = e.retryAfter();
        if (wait == null || wait.compareTo(LONGEST_WAIT) > 0 || tries == MOST_TRIES) {
          throw e;
        }
        pause(wait);
      }
    }
  }

  private static void pause(Duration wait) {
    try {
      Thread.sleep(wait);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StatusException(Status.CANCELLED, "interrupted", e);
    }
  }

  /** Why it is not READY, what its owner should know, or why its metadata are missing. */
  private static String notes(JsonNode entry, String missing) {
    List<String> parts = new ArrayList<>();
    parts.add(entry.path("reason").asText());
    entry.path("notes").forEach(note -> parts.add(note.asText()));
    parts.add(missing);
    parts.removeIf(String::isEmpty);
    return String.join("; ", parts);
  }

  private static String signature(JsonNode tensors) {
    List<String> parts = new ArrayList<>();
    tensors.forEach(tensor -> parts.add(TensorDeclaration.of(tensor).toString()));
    return String.join(", ", parts);
  }
}
