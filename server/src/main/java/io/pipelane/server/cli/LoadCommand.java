package io.pipelane.server.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code pipelane load}: puts a model of a running server in service. */
@Command(
    name = "load",
    description = "Import what is new or changed of a model, and put it in service.")
final class LoadCommand implements Subcommand {
  private static final long MOST_CONFIG_BYTES = 1 << 20;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ServerAddress address = new ServerAddress();

  @Parameters(paramLabel = "MODEL", description = "The model's name; models lists them.")
  private String model = "";

  @Option(
      names = "--config",
      paramLabel = "FILE",
      description =
          "Triton's model configuration as JSON; stands for what the folder says until the next"
              + " load.")
  private @Nullable Path config;

  @Option(
      names = "--version",
      paramLabel = "VERSION",
      description = "Serve this version until the next load, and no other; may be repeated.")
  private List<Long> versions = new ArrayList<>();

  @Option(
      names = "--within-ms",
      paramLabel = "MILLISECONDS",
      description = "How soon its weights should be on the device.")
  private @Nullable Long withinMillis;

  @Override
  public Integer call() {
    ObjectNode body = ServerClient.JSON.createObjectNode();
    ObjectNode parameters = ServerClient.JSON.createObjectNode();
    if (withinMillis != null) {
      parameters.put("deadline", TimeUnit.MILLISECONDS.toMicros(withinMillis));
    }
    if (config != null || !versions.isEmpty()) {
      parameters.put("config", configuration().toString());
    }
    if (!parameters.isEmpty()) {
      body.set("parameters", parameters);
    }
    try (ServerClient client = address.connect()) {
      client.change(body, "v2", "repository", "models", model, "load");
    }
    spec.commandLine().getOut().println("Model " + model + " is in service.");
    spec.commandLine().getOut().flush();
    return 0;
  }

  /** The file's, with the versions that are named in place of those that it names. */
  private ObjectNode configuration() {
    ObjectNode whole = config == null ? ServerClient.JSON.createObjectNode() : read(config);
    if (!versions.isEmpty()) {
      ArrayNode named =
          whole.putObject("version_policy").putObject("specific").putArray("versions");
      versions.forEach(named::add);
    }
    return whole;
  }

  private static ObjectNode read(Path file) {
    try {
      if (Files.size(file) > MOST_CONFIG_BYTES) {
        throw invalid(file + " is larger than 1MiB", null);
      }
      JsonNode read = ServerClient.JSON.readTree(Files.readString(file));
      if (read instanceof ObjectNode object) {
        return object;
      }
      throw invalid(file + " is no JSON object", null);
    } catch (JsonProcessingException e) {
      throw invalid(file + " is not JSON: " + e.getOriginalMessage(), e);
    } catch (IOException e) {
      throw invalid(file + " cannot be read: " + e, e);
    }
  }

  private static StatusException invalid(String reason, @Nullable Throwable cause) {
    return cause == null
        ? new StatusException(Status.INVALID_ARGUMENT, reason)
        : new StatusException(Status.INVALID_ARGUMENT, reason, cause);
  }
}
