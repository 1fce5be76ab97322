package io.pipelane.server.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.PrintWriter;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Lists the hosts that a server shares models with. */
@Command(name = "hosts", description = "List the hosts that a server shares models with.")
final class HostsCommand implements Subcommand {
  private static final double MICROS_PER_MILLI = 1e3;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ServerAddress address = new ServerAddress();

  @Option(names = "--models", description = "Each host's models, too.")
  private boolean models;

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    try (ServerClient client = address.connect()) {
      print(client.get("v2", "hosts"), out);
    }
    out.flush();
    return 0;
  }

  private void print(JsonNode overview, PrintWriter out) {
    String own = overview.path("own").asText();
    if (own.isEmpty()) {
      out.println("The server shares models with no other host; see hosts.etcd.");
      return;
    }
    boolean reached = overview.path("registry_reached").asBoolean();
    out.println("Asked " + own + (reached ? "" : ", which does not reach etcd at present"));
    if (overview.path("hosts").isEmpty()) {
      out.println("It knows no other host.");
      return;
    }
    hosts(overview.path("hosts")).print(out);
    if (models) {
      out.println();
      models(overview.path("hosts")).print(out);
    }
  }

  private static LeftAlignedTable hosts(JsonNode hosts) {
    LeftAlignedTable table =
        new LeftAlignedTable("HOST", "STATE", "MODELS", "LANES", "WAIT MS", "UNDER WAY");
    for (JsonNode host : hosts) {
      table.add(
          host.path("name").asText(),
          host.path("state").asText(),
          Integer.toString(host.path("models").size()),
          host.path("lanes").asText(),
          millis(host.path("wait_us")),
          host.path("under_way").asText());
    }
    return table;
  }

  private static LeftAlignedTable models(JsonNode hosts) {
    LeftAlignedTable table = new LeftAlignedTable("HOST", "MODEL", "VERSION", "STALL MS");
    for (JsonNode host : hosts) {
      for (JsonNode model : host.path("models")) {
        table.add(
            host.path("name").asText(),
            model.path("name").asText(),
            model.path("version").asText(),
            millis(model.path("stall_us")));
      }
    }
    return table;
  }

  private static String millis(JsonNode micros) {
    return String.format(Locale.ROOT, "%.3f", micros.asLong() / MICROS_PER_MILLI);
  }
}
