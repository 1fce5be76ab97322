package io.pipelane.server.jobs;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.server.protocol.QuotedText;
import java.io.IOException;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;

/** Jobs in JSON, as their files hold them. */
final class JobJson {
  private static final int LONGEST_QUOTED = 64;
  private static final int DEEPEST = 32;

  /** Numbers are kept as they were written, and nothing is said twice. */
  private static final JsonMapper JSON =
      JsonMapper.builder(
              JsonFactory.builder()
                  .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                  .streamReadConstraints(
                      StreamReadConstraints.builder().maxNestingDepth(DEEPEST).build())
                  .build())
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .build();

  private JobJson() {}

  /**
   * Reads one object.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it is none
   */
  static JsonNode parse(byte[] json) {
    try {
      JsonNode root = JSON.readTree(json);
      if (root == null || !root.isObject()) {
        throw new StatusException(Status.INVALID_ARGUMENT, "a job must be a JSON object");
      }
      return root;
    } catch (JsonProcessingException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, "malformed JSON: " + e.getOriginalMessage(), e);
    } catch (IOException e) {
      throw new StatusException(Status.INTERNAL, "reading from memory failed: " + e, e);
    }
  }

  /** One line without its end. */
  static byte[] write(JsonNode node) {
    try {
      return JSON.writeValueAsBytes(node);
    } catch (JsonProcessingException e) {
      throw new StatusException(Status.INTERNAL, "writing to memory failed: " + e, e);
    }
  }

  static ObjectNode object() {
    return JSON.createObjectNode();
  }

  static String shorten(String text) {
    return QuotedText.shorten(text, LONGEST_QUOTED);
  }

  /** A text as it stands between the quotes of a JSON string, with them. */
  static byte[] quoted(String text) {
    return write(JSON.getNodeFactory().textNode(text));
  }

  /** What a job is to do. */
  static ObjectNode of(JobSpec spec) {
    ObjectNode node = object();
    node.put("id", spec.id());
    node.put("model", spec.model().model());
    node.put("version", Long.toString(spec.model().version()));
    node.put("content", spec.content());
    spec.inputFile().ifPresent(file -> node.put("input_file", file));
    node.put("input_bytes", spec.inputBytes());
    node.put("input_modified_ms", spec.inputModifiedMillis());
    node.put("output_file", spec.outputFile());
    node.put("class", spec.priority().name().toLowerCase(Locale.ROOT));
    spec.sizeHint().ifPresent(items -> node.put("size_hint", items));
    node.put("repeat", spec.repeat());
    node.put("group", spec.group());
    node.put("created_ms", spec.createdMillis());
    return node;
  }

  /** The same read back. */
  static JobSpec spec(JsonNode node) {
    JsonNode hint = node.path("size_hint");
    return new JobSpec(
        node.path("id").asText(),
        new ModelVersion(node.path("model").asText(), node.path("version").asLong()),
        node.path("content").asText(),
        Optional.of(node.path("input_file")).filter(JsonNode::isTextual).map(JsonNode::asText),
        node.path("input_bytes").asLong(),
        node.path("input_modified_ms").asLong(),
        node.path("output_file").asText(),
        Priority.valueOf(node.path("class").asText().toUpperCase(Locale.ROOT)),
        hint.isMissingNode() ? OptionalLong.empty() : OptionalLong.of(hint.asLong()),
        node.path("repeat").asLong(1),
        node.path("group").asText(),
        node.path("created_ms").asLong());
  }
}
