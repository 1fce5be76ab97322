package io.pipelane.server.jobs;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * A client's request for a job.
 *
 * @param version of the model; empty lets the catalogue pick
 * @param inputFile its items, a line of JSON each; empty where they came along
 * @param items those that came along, in the form of an input file
 * @param sizeHint how many items there are
 * @param repeat how often they are gone through
 */
record JobRequest(
    String model,
    String version,
    Optional<String> inputFile,
    String items,
    String outputFile,
    Priority priority,
    OptionalLong sizeHint,
    long repeat,
    String group) {
  /** Longest request: what is longer belongs into a file. */
  static final int MOST_BYTES = 4 << 20;

  private static final long MOST_REPEATS = 1_000_000;
  private static final int LONGEST_NAME = 128;
  private static final Set<String> KEYS =
      Set.of(
          "model",
          "version",
          "items",
          "input_file",
          "output_file",
          "class",
          "size_hint",
          "repeat",
          "group");

  /**
   * Reads a request.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} naming the member that is wrong
   */
  static JobRequest read(byte[] json) {
    if (json.length > MOST_BYTES) {
      throw new StatusException(
          Status.TOO_LARGE,
          "a job's request has %d bytes, the limit is %d; put the items into a file (input_file)"
              .formatted(json.length, MOST_BYTES));
    }
    JsonNode root = JobJson.parse(json);
    for (Map.Entry<String, JsonNode> member : root.properties()) {
      if (!KEYS.contains(member.getKey())) {
        throw invalid(
            "unknown member \"%s\"; known are %s"
                .formatted(JobJson.shorten(member.getKey()), KEYS.stream().sorted().toList()));
      }
    }
    Optional<String> inputFile = text(root, "input_file");
    JsonNode items = root.path("items");
    if (inputFile.isEmpty() && items.isMissingNode()) {
      throw invalid("it has neither items nor an input_file; it needs one of them");
    }
    if (inputFile.isPresent() && !items.isMissingNode()) {
      throw invalid("it has both items and an input_file; leave one of them out");
    }
    return new JobRequest(
        required(root, "model"),
        version(root),
        inputFile,
        items.isMissingNode() ? "" : lines(items),
        outputFile(root),
        priority(text(root, "class").orElse("offline")),
        sizeHint(root.path("size_hint")),
        repeat(root.path("repeat")),
        text(root, "group").orElse(""));
  }

  private static String lines(JsonNode items) {
    if (!items.isArray() || items.isEmpty()) {
      throw invalid("items must be an array of inference requests, one at least");
    }
    ByteArrayOutputStream lines = new ByteArrayOutputStream();
    for (JsonNode item : items) {
      if (!item.isObject()) {
        throw invalid("each of the items must be an inference request, {\"inputs\": [...]}");
      }
      lines.writeBytes(JobJson.write(item));
      lines.write('\n');
    }
    return lines.toString(StandardCharsets.UTF_8);
  }

  private static String required(JsonNode root, String member) {
    return text(root, member).orElseThrow(() -> invalid("\"" + member + "\" is missing"));
  }

  /** As a text, or as the number that it is. */
  private static String version(JsonNode root) {
    JsonNode node = root.path("version");
    return node.isIntegralNumber() && node.canConvertToLong()
        ? node.asText()
        : text(root, "version").orElse("");
  }

  private static String outputFile(JsonNode root) {
    String name = required(root, "output_file");
    if (name.endsWith(JobFiles.PARTIAL)) {
      throw invalid(
          "output_file \"%s\" ends in %s, as rows do of jobs that are not done"
              .formatted(JobJson.shorten(name), JobFiles.PARTIAL));
    }
    return name;
  }

  private static Optional<String> text(JsonNode root, String member) {
    JsonNode node = root.path(member);
    if (node.isMissingNode()) {
      return Optional.empty();
    }
    String text = node.asText();
    boolean isLong =
        text.length() > (member.endsWith("_file") ? JobFiles.LONGEST_PATH : LONGEST_NAME);
    if (!node.isTextual() || text.isEmpty() || isLong) {
      throw invalid(
          "\"%s\" is \"%s\", and must be a text of 1 to %d characters"
              .formatted(
                  member,
                  JobJson.shorten(text),
                  member.endsWith("_file") ? JobFiles.LONGEST_PATH : LONGEST_NAME));
    }
    return Optional.of(text);
  }

  private static Priority priority(String name) {
    return switch (name) {
      case "online" -> Priority.ONLINE;
      case "offline" -> Priority.OFFLINE;
      default ->
          throw invalid("\"class\" is \"" + JobJson.shorten(name) + "\"; it is online or offline");
    };
  }

  private static OptionalLong sizeHint(JsonNode node) {
    if (node.isMissingNode()) {
      return OptionalLong.empty();
    }
    if (!node.isIntegralNumber() || !node.canConvertToLong() || node.asLong() < 1) {
      throw invalid("\"size_hint\" must be the number of items, 1 at least");
    }
    return OptionalLong.of(node.asLong());
  }

  private static long repeat(JsonNode node) {
    if (node.isMissingNode()) {
      return 1;
    }
    if (!node.isIntegralNumber() || !node.canConvertToLong() || !isRepeat(node.asLong())) {
      throw invalid(
          "\"repeat\" is how often the items are gone through, from 1 to %d"
              .formatted(MOST_REPEATS));
    }
    return node.asLong();
  }

  private static boolean isRepeat(long times) {
    return times >= 1 && times <= MOST_REPEATS;
  }

  private static StatusException invalid(String message) {
    return new StatusException(Status.INVALID_ARGUMENT, "job: " + message);
  }
}
