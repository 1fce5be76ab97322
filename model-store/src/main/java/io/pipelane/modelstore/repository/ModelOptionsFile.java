package io.pipelane.modelstore.repository;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.repository.ModelOptions.Limits;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A reader of {@code pipelane.yaml}. */
final class ModelOptionsFile {
  static final String NAME = "pipelane.yaml";

  private static final int MAXIMUM_BYTES = 256 << 10;
  private static final int MAXIMUM_SIZES = 64;
  private static final int MAXIMUM_BATCH = 65_536;

  /** How long a request may be held for others to come. */
  static final Duration LONGEST_DELAY = Duration.ofSeconds(1);

  /** Less than that is what runs differ by from each other. */
  private static final double LEAST_SLOWDOWN = 1.01;

  private static final double MOST_SLOWDOWN = 10;
  private static final Pattern SLOWDOWN = Pattern.compile("\\d{1,2}(\\.\\d{1,4})?");
  private static final Pattern DURATION = Pattern.compile("(\\d{1,9})\\s*(us|ms|s|m|h)");

  /** Refuses a key that is written twice, of which one would be passed over. */
  static final ObjectMapper YAML =
      new ObjectMapper(
          YAMLFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build());

  private static final Pattern DUPLICATE = Pattern.compile("Duplicate field '(.*)'");

  private ModelOptionsFile() {}

  /**
   * Reads a model's options; a missing file means the defaults.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} naming key, value and what is allowed
   */
  static ModelOptions read(Path file) throws IOException {
    return Files.exists(file) ? parse(bytes(file)) : ModelOptions.DEFAULT;
  }

  /** What a file holds that may be one of options. */
  static byte[] bytes(Path file) throws IOException {
    if (!Files.isRegularFile(file) || Files.size(file) > MAXIMUM_BYTES) {
      throw refused("is no file of at most " + MAXIMUM_BYTES + " bytes");
    }
    return Files.readAllBytes(file);
  }

  static ModelOptions parse(byte[] yaml) {
    JsonNode root;
    try {
      root = YAML.readTree(yaml);
    } catch (JsonProcessingException e) {
      throw unreadable(e);
    } catch (IOException | RuntimeException e) {
      throw refused("is not YAML: " + e.getMessage());
    }
    if (root == null || root.isMissingNode() || root.isNull()) {
      return ModelOptions.DEFAULT;
    }
    checkKeys(
        root,
        "",
        Set.of("buckets", "warm-up", "tenant", "priority", "limits", "batching", "state"));
    List<Integer> buckets = sizes("buckets", root.path("buckets"));
    BatchingOptions batching = batching(root.path("batching"));
    requireWithin(batching.maxRows(), "buckets", buckets);
    return new ModelOptions(
        buckets,
        warmUp(root.path("warm-up")),
        tenant(root.path("tenant")),
        priority(root.path("priority")),
        limits(root.path("limits")),
        batching,
        StateOptions.of(root.path("state")),
        WarmUpOptions.of(root.path("warm-up")));
  }

  /** Requests to run have the weights brought in, too. */
  private static boolean warmUp(JsonNode node) {
    if (!node.isMissingNode() && !node.isBoolean() && !node.isArray()) {
      throw refused(
          "warm-up is \"%s\"; allowed are true, false and a list of requests"
              .formatted(node.asText()));
    }
    return node.isArray() || node.asBoolean(ModelOptions.DEFAULT.warmUp());
  }

  private static StatusException unreadable(JsonProcessingException e) {
    Matcher duplicate = DUPLICATE.matcher(e.getOriginalMessage());
    return duplicate.matches()
        ? refused(
            "the key \"%s\" in line %d is written twice in one place; leave one of them"
                .formatted(duplicate.group(1), e.getLocation().getLineNr()))
        : refused("is not YAML: " + e.getMessage());
  }

  private static Limits limits(JsonNode node) {
    if (node.isMissingNode()) {
      return ModelOptions.DEFAULT.limits();
    }
    Set<String> keys =
        Set.of("queued-requests", "queued-size", "request-size", "timeout", "max-slowdown");
    checkKeys(node, "limits.", keys);
    return new Limits(
        Optional.of(node.path("queued-requests"))
            .filter(requests -> !requests.isMissingNode())
            .map(requests -> integer("limits.queued-requests", requests, 1_000_000)),
        value("limits.queued-size", node.path("queued-size"), ByteSize::parse),
        value("limits.request-size", node.path("request-size"), ByteSize::parse),
        value("limits.timeout", node.path("timeout"), ModelOptionsFile::duration),
        value("limits.max-slowdown", node.path("max-slowdown"), ModelOptionsFile::slowdown));
  }

  private static double slowdown(String text) {
    double times = SLOWDOWN.matcher(text).matches() ? Double.parseDouble(text) : 0;
    if (times < LEAST_SLOWDOWN || times > MOST_SLOWDOWN) {
      throw new IllegalArgumentException(
          "\"%s\" is not allowed; allowed are %s to %s times the time alone"
              .formatted(text, LEAST_SLOWDOWN, MOST_SLOWDOWN));
    }
    return times;
  }

  private static BatchingOptions batching(JsonNode node) {
    if (node.isMissingNode()) {
      return BatchingOptions.DEFAULT;
    }
    Set<String> keys =
        Set.of("mode", "preferred-sizes", "max-queue-delay", "preserve-order", "max-rows");
    checkKeys(node, "batching.", keys);
    JsonNode delay = node.path("max-queue-delay");
    Duration maximum =
        value("batching.max-queue-delay", delay, ModelOptionsFile::duration)
            .orElse(BatchingOptions.DEFAULT.maxQueueDelay());
    if (maximum.compareTo(LONGEST_DELAY) > 0) {
      throw refused(
          "batching.max-queue-delay is \"%s\"; allowed are 0us to 1s".formatted(delay.asText()));
    }
    List<Integer> preferred = sizes("batching.preferred-sizes", node.path("preferred-sizes"));
    Optional<Integer> maxRows =
        Optional.of(node.path("max-rows"))
            .filter(rows -> !rows.isMissingNode())
            .map(rows -> integer("batching.max-rows", rows, MAXIMUM_BATCH));
    requireWithin(maxRows, "batching.preferred-sizes", preferred);
    return new BatchingOptions(
        mode(node.path("mode")),
        preferred,
        maximum,
        yesOrNo("batching.preserve-order", node.path("preserve-order"), false),
        maxRows);
  }

  private static void requireWithin(Optional<Integer> maxRows, String key, List<Integer> sizes) {
    int most = maxRows.orElse(MAXIMUM_BATCH);
    if (!sizes.isEmpty() && sizes.getLast() > most) {
      throw refused("%s has %d, batching.max-rows is %d".formatted(key, sizes.getLast(), most));
    }
  }

  private static BatchingOptions.Mode mode(JsonNode node) {
    return switch (node.asText("auto").toLowerCase(Locale.ROOT)) {
      case "auto", "" -> BatchingOptions.Mode.AUTO;
      case "always" -> BatchingOptions.Mode.ALWAYS;
      case "never" -> BatchingOptions.Mode.NEVER;
      default ->
          throw refused(
              "batching.mode is \"%s\"; allowed are auto, always and never"
                  .formatted(node.asText()));
    };
  }

  static void checkKeys(JsonNode node, String prefix, Set<String> allowed) {
    if (!node.isObject()) {
      throw refused((prefix.isEmpty() ? "" : prefix + " ") + "must be keys and values");
    }
    for (Map.Entry<String, JsonNode> entry : node.properties()) {
      if (!allowed.contains(entry.getKey())) {
        throw refused(
            "unknown key \"%s%s\"; known are %s"
                .formatted(prefix, entry.getKey(), allowed.stream().sorted().toList()));
      }
    }
  }

  /** Batch sizes, ascending. */
  private static List<Integer> sizes(String key, JsonNode node) {
    List<Integer> sizes = new ArrayList<>();
    if (node.isMissingNode()) {
      return sizes;
    }
    if (!node.isArray() || node.size() > MAXIMUM_SIZES) {
      throw refused(key + " must be a list of at most " + MAXIMUM_SIZES + " batch sizes");
    }
    for (JsonNode element : node) {
      int size = integer(key, element, MAXIMUM_BATCH);
      if (!sizes.isEmpty() && size <= sizes.getLast()) {
        throw refused(key + " must ascend: " + size + " follows " + sizes.getLast());
      }
      sizes.add(size);
    }
    return sizes;
  }

  private static boolean yesOrNo(String key, JsonNode node, boolean standard) {
    if (!node.isMissingNode() && !node.isBoolean()) {
      throw refused(key + " is \"" + node.asText() + "\"; allowed are true and false");
    }
    return node.asBoolean(standard);
  }

  private static String tenant(JsonNode node) {
    String name = node.asText("");
    if (!node.isMissingNode() && (!node.isTextual() || name.isEmpty() || name.length() > 128)) {
      throw refused("tenant is \"" + name + "\"; allowed are names of 1 to 128 characters");
    }
    return name;
  }

  private static Priority priority(JsonNode node) {
    return switch (node.asText("online").toLowerCase(Locale.ROOT)) {
      case "online", "" -> Priority.ONLINE;
      case "offline" -> Priority.OFFLINE;
      default ->
          throw refused("priority is \"" + node.asText() + "\"; allowed are online and offline");
    };
  }

  static int integer(String key, JsonNode node, int maximum) {
    if (!node.isIntegralNumber() || !node.canConvertToInt()) {
      throw refused("%s is \"%s\"; allowed are 1 to %d".formatted(key, node.asText(), maximum));
    }
    int value = node.asInt();
    if (value < 1 || value > maximum) {
      throw refused("%s is %d; allowed are 1 to %d".formatted(key, value, maximum));
    }
    return value;
  }

  private static <T> Optional<T> value(String key, JsonNode node, Function<String, T> parser) {
    if (node.isMissingNode()) {
      return Optional.empty();
    }
    try {
      return Optional.of(parser.apply(node.asText()));
    } catch (IllegalArgumentException e) {
      throw refused(key + ": " + e.getMessage());
    }
  }

  private static Duration duration(String text) {
    Matcher matcher = DURATION.matcher(text.strip());
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "\"" + text + "\" is not a time; write a number and us, ms, s, m or h");
    }
    long number = Long.parseLong(matcher.group(1));
    return switch (matcher.group(2)) {
      case "us" -> Duration.ofNanos(1_000 * number);
      case "ms" -> Duration.ofMillis(number);
      case "s" -> Duration.ofSeconds(number);
      case "m" -> Duration.ofMinutes(number);
      default -> Duration.ofHours(number);
    };
  }

  static StatusException refused(String reason) {
    return new StatusException(Status.INVALID_ARGUMENT, NAME + ": " + reason);
  }
}
