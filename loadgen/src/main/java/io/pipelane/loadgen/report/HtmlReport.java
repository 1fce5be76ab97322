package io.pipelane.loadgen.report;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/**
 * One or several experiments as a page with charts: a single file that needs nothing else. What it
 * shows is drawn by its script from the experiments' JSON, which it holds.
 */
public final class HtmlReport {
  private static final String TEMPLATE = "report.html";
  private static final String CHARTS = "charts.js";
  private static final String SCRIPT = "report.js";
  private static final String STYLE = "report.css";

  private final ObjectMapper json = new ObjectMapper();

  /** Writes a page about experiments, as {@link ResultJson} makes them. */
  public void write(Path file, List<ObjectNode> experiments) throws IOException {
    ArrayNode data = json.createArrayNode().addAll(experiments);
    String page =
        resource(TEMPLATE)
            .replace("/*STYLE*/", resource(STYLE))
            .replace("/*CHARTS*/", resource(CHARTS))
            .replace("/*REPORT*/", resource(SCRIPT))
            .replace("/*DATA*/", json.writeValueAsString(data).replace("<", "\\u003c"));
    Files.writeString(file, page);
  }

  /**
   * Reads an experiment that was written as JSON.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the file is no such thing
   */
  public ObjectNode read(Path file) throws IOException {
    if (!Files.isRegularFile(file)) {
      throw new StatusException(Status.INVALID_ARGUMENT, "there is no file " + file);
    }
    if (parse(file) instanceof ObjectNode result
        && result.path("form").asText().equals(ResultJson.FORM)
        && result.path("form_version").asInt() == ResultJson.FORM_VERSION) {
      return result;
    }
    throw new StatusException(
        Status.INVALID_ARGUMENT,
        "%s is no result of form %s %d; write one with --json"
            .formatted(file, ResultJson.FORM, ResultJson.FORM_VERSION));
  }

  private JsonNode parse(Path file) throws IOException {
    try {
      return json.readTree(file.toFile());
    } catch (JsonProcessingException e) {
      return MissingNode.getInstance();
    }
  }

  private static String resource(String name) throws IOException {
    try (InputStream in = HtmlReport.class.getResourceAsStream(name)) {
      return new String(Objects.requireNonNull(in, name).readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
