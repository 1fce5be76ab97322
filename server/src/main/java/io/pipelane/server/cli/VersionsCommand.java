package io.pipelane.server.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * {@code pipelane versions}: shows and chooses which versions of a model a running server serves.
 */
@Command(
    name = "versions",
    description = {
      "Show which versions of a model are served, or choose them.",
      "What is chosen holds at one moment, fails no request, and is kept over restarts."
    })
final class VersionsCommand implements Subcommand {
  private static final String REPOSITORY = "repository";
  private static final String HIGHEST = "highest";

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ServerAddress address = new ServerAddress();

  @Parameters(paramLabel = "MODEL", description = "The model's name; models lists them.")
  private String model = "";

  @Option(
      names = "--serve",
      paramLabel = "VERSIONS",
      description =
          "all, latest:2 or versions like 1,3; " + REPOSITORY + " for what its folder says.")
  private @Nullable String serve;

  @Option(
      names = "--default",
      paramLabel = "VERSION",
      description =
          "The version or label that answers requests that name none; "
              + HIGHEST
              + " for the highest that is READY.")
  private @Nullable String standard;

  @Option(
      names = "--label",
      paramLabel = "LABEL=VERSION",
      description = "Have a label stand for a version; may be repeated.")
  private Map<String, Long> labels = new LinkedHashMap<>();

  @Option(
      names = "--unlabel",
      paramLabel = "LABEL",
      description = "Take a label away; may be repeated.")
  private List<String> unlabelled = new ArrayList<>();

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    ObjectNode change = change();
    try (ServerClient client = address.connect()) {
      String[] path = {"v2", "repository", "models", model, "versions"};
      JsonNode now = change.isEmpty() ? client.get(path) : client.change(change, path);
      out.println("Served: " + now.path("serve").asText("as its folder says"));
      out.println("Default: " + now.path("default").asText("the highest version that is READY"));
      LeftAlignedTable table = new LeftAlignedTable("VERSION", "STATE", "LABELS", "REASON");
      for (JsonNode version : now.path("versions")) {
        String number = version.path("version").asText();
        table.add(
            number,
            version.path("state").asText(),
            labels(now.path("labels"), number),
            version.path("reason").asText());
      }
      table.print(out);
    }
    out.flush();
    return 0;
  }

  private ObjectNode change() {
    ObjectNode change = ServerClient.JSON.createObjectNode();
    if (serve != null) {
      change.put("serve", serve.equals(REPOSITORY) ? null : serve);
    }
    if (standard != null) {
      change.put("default", standard.equals(HIGHEST) ? null : standard);
    }
    if (!labels.isEmpty() || !unlabelled.isEmpty()) {
      ObjectNode changed = change.putObject("labels");
      labels.forEach(changed::put);
      unlabelled.forEach(changed::putNull);
    }
    return change;
  }

  private static String labels(JsonNode labels, String version) {
    List<String> of = new ArrayList<>();
    for (Map.Entry<String, JsonNode> label : labels.properties()) {
      if (label.getValue().asText().equals(version)) {
        of.add(label.getKey());
      }
    }
    return String.join(", ", of);
  }
}
