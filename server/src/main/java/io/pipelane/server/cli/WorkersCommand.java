package io.pipelane.server.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.config.value.ByteSize;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code pipelane workers}: lists what runs a server's models, and replaces it. */
@Command(
    name = "workers",
    description = "List a server's worker processes, or replace one without failing a request.")
final class WorkersCommand implements Subcommand {
  private static final int MOST_NAMES = 8;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ServerAddress address = new ServerAddress();

  @Option(names = "--recycle", paramLabel = "ID", description = "Replace this worker.")
  private int recycled;

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    try (ServerClient client = address.connect()) {
      if (recycled != 0) {
        client.change(
            ServerClient.JSON.createObjectNode(),
            "v2",
            "workers",
            Integer.toString(recycled),
            "recycle");
        out.println("Worker " + recycled + " has been replaced.");
      }
      print(client.get("v2", "workers"), out);
    }
    out.flush();
    return 0;
  }

  private static void print(JsonNode overview, PrintWriter out) {
    LeftAlignedTable table =
        new LeftAlignedTable(
            "ID",
            "PID",
            "STATE",
            "SESSIONS",
            "WARMED UP",
            "MEMORY",
            "DEVICE",
            "DEVICE MEMORY",
            "OF NO SESSION",
            "MODELS");
    for (JsonNode worker : overview.path("workers")) {
      table.add(
          worker.path("id").asText(),
          worker.path("pid").asText(),
          worker.path("state").asText(),
          worker.path("sessions").asText(),
          worker.path("warmed_up").asText(),
          new ByteSize(worker.path("memory_bytes").asLong()).toString(),
          worker.path("device").asText(),
          new ByteSize(worker.path("device_bytes").asLong()).toString(),
          new ByteSize(worker.path("framework_bytes").asLong()).toString(),
          models(worker));
    }
    if (overview.path("workers").isEmpty()) {
      out.println("Models run in the server's own process; see workers.isolation.");
      return;
    }
    table.print(out);
    out.println("Started %s, lost %s".formatted(overview.path("started"), overview.path("lost")));
    String loss = overview.path("last_loss").asText();
    if (!loss.isEmpty()) {
      out.println("Last loss: " + loss);
      double pauseMillis = overview.path("last_pause_us").asLong() / 1e3;
      out.println(String.format(Locale.ROOT, "Last pause: %.1f ms", pauseMillis));
    }
  }

  /** What a worker has built, such as {@code a/1, b/2 x4, 13 more}: a line is not to be longer. */
  static String models(JsonNode worker) {
    List<String> names = new ArrayList<>();
    for (JsonNode model : worker.path("models")) {
      int sessions = model.path("sessions").asInt();
      names.add(
          model.path("name").asText()
              + "/"
              + model.path("version").asText()
              + (sessions > 1 ? " x" + sessions : ""));
    }
    int hidden = Math.max(0, names.size() - MOST_NAMES) + worker.path("more_models").asInt();
    List<String> shown = new ArrayList<>(names.subList(0, Math.min(MOST_NAMES, names.size())));
    if (hidden > 0) {
      shown.add(hidden + " more");
    }
    return String.join(", ", shown);
  }
}
