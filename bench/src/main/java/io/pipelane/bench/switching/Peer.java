package io.pipelane.bench.switching;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A reader of what another program has measured on the same device: lines of JSON with {@code
 * model}, {@code warm_ms}, {@code naive_to_cuda_ms}, {@code cold_flat_ms} and {@code cold_pipe_ms}
 * (by group size, [groups, ms]), and lines {@code MODEL cuda graph warm ms VALUE}.
 */
final class Peer {
  private static final String PREFIX = "peer_";
  private static final Row EAGER = new Row(PREFIX + "eager", "PyTorch eager, warm");
  private static final Row GRAPH = new Row(PREFIX + "graph", "PyTorch CUDA graph, warm");
  private static final Row MOVED = new Row(PREFIX + "moved", "PyTorch eager, .to(\"cuda\")");
  private static final Row FLAT = new Row(PREFIX + "flat", "PyTorch eager, cold, one pinned copy");
  private static final Row PIPELINED =
      new Row(PREFIX + "pipelined", "PyTorch eager, cold, hooks per module, best grouping");
  private static final Pattern GRAPH_LINE =
      Pattern.compile("(\\S+) cuda graph warm ms ([0-9.]+)\\s*");

  private Peer() {}

  static boolean isPeer(Row row) {
    return row.key().startsWith(PREFIX);
  }

  /** Adds what a file says of models that were measured here too. */
  static void read(Path file, Measurements measurements) throws IOException {
    ObjectMapper json = new ObjectMapper();
    for (String line : Files.readAllLines(file)) {
      Matcher graph = GRAPH_LINE.matcher(line);
      if (line.startsWith("{")) {
        add(json.readTree(line), measurements);
      } else if (graph.matches()) {
        add(measurements, graph.group(1), GRAPH, Double.parseDouble(graph.group(2)));
      }
    }
  }

  private static void add(JsonNode line, Measurements measurements) {
    String model = line.path("model").asText();
    add(measurements, model, EAGER, line.path("warm_ms").asDouble());
    add(measurements, model, MOVED, line.path("naive_to_cuda_ms").asDouble());
    add(measurements, model, FLAT, line.path("cold_flat_ms").asDouble());
    double best = Double.POSITIVE_INFINITY;
    for (JsonNode grouping : line.path("cold_pipe_ms")) {
      best = Math.min(best, grouping.path(1).asDouble());
    }
    add(measurements, model, PIPELINED, best);
  }

  private static void add(Measurements measurements, String model, Row row, double millis) {
    if (measurements.models().containsKey(model) && Double.isFinite(millis)) {
      measurements.of(model).of(row).add(millis);
    }
  }
}
