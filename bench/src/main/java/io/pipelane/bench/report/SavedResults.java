package io.pipelane.bench.report;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/** The results that a benchmark program has written with {@code --json}. */
public final class SavedResults {
  private static final long MOST_BYTES = 16 << 20;

  private final Map<String, JsonNode> cases = new LinkedHashMap<>();

  private SavedResults(JsonNode root) {
    root.path("cases").forEach(node -> cases.put(node.path("case").asText(), node));
  }

  /**
   * Reads a file.
   *
   * @throws IOException when it cannot be read, is larger than 16 MiB, or has no cases
   */
  public static SavedResults read(Path file) throws IOException {
    if (Files.size(file) > MOST_BYTES) {
      throw new IOException(
          "%s has %d bytes, %d are read at most".formatted(file, Files.size(file), MOST_BYTES));
    }
    SavedResults results = new SavedResults(new ObjectMapper().readTree(file.toFile()));
    if (results.cases.isEmpty()) {
      throw new IOException(
          file + " has no cases; give a file that a benchmark program wrote with --json");
    }
    return results;
  }

  /** Names of cases, in the order of the file. */
  public List<String> cases() {
    return List.copyOf(cases.keySet());
  }

  /**
   * What a case's rounds come to together, or their median; empty where there is no value.
   *
   * @param key of a column
   */
  public OptionalDouble value(String caseName, String key) {
    JsonNode column = cases.getOrDefault(caseName, MissingNode.getInstance()).path(key);
    JsonNode together = column.path("together");
    JsonNode value = together.isNumber() ? together : column.path("median");
    return value.isNumber() ? OptionalDouble.of(value.asDouble()) : OptionalDouble.empty();
  }
}
