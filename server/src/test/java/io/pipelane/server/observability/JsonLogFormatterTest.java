package io.pipelane.server.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.config.Status;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.RequestAccount;
import java.io.IOException;
import java.time.Instant;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import org.junit.jupiter.api.Test;

class JsonLogFormatterTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  private static LogRecord record(Level level, String message) {
    LogRecord record = new LogRecord(level, message);
    record.setLoggerName("io.pipelane.Something");
    record.setInstant(Instant.parse("2026-01-02T03:04:05.006Z"));
    return record;
  }

  private static JsonNode written(LogRecord record) {
    String line = new JsonLogFormatter().format(record);
    assertTrue(line.endsWith("}\n"), line);
    assertEquals(1, line.lines().count(), line);
    try {
      return JSON.readTree(line);
    } catch (IOException e) {
      throw new AssertionError(line, e);
    }
  }

  @Test
  void format_record_isAnObjectOnALine() {
    LogRecord record = record(Level.WARNING, "{0} says \"no\"\nand again");
    record.setParameters(new Object[] {"ocr v1"});
    assertEquals(
        "{\"time\":\"2026-01-02T03:04:05.006Z\",\"level\":\"WARNING\","
            + "\"logger\":\"io.pipelane.Something\",\"message\":\"ocr v1 says \\\"no\\\"\\nand again\"}",
        written(record).toString());
  }

  @Test
  void format_error_hasItsStackTrace() {
    LogRecord record = record(Level.SEVERE, "it failed");
    record.setThrown(new IllegalStateException("because"));
    JsonNode json = written(record);
    assertEquals("ERROR", json.path("level").asText());
    assertTrue(
        json.path("error").asText().startsWith("java.lang.IllegalStateException: because\n"));
    assertFalse(json.has("trace_id"));
  }

  @Test
  void format_aboutTracedRequest_namesTheTrace() {
    try (Tracings traces = new Tracings(1)) {
      RequestAccount account =
          new InferenceStatistics(traces.tracing).begin(new ModelVersion("ocr", 1), _ -> null);
      JsonNode json = account.traced(() -> written(record(Level.SEVERE, "it failed")));
      account.failed(Status.INTERNAL);
      String trace =
          "00-%s-%s-".formatted(json.path("trace_id").asText(), json.path("span_id").asText());
      assertTrue(String.valueOf(account.traceparent()).startsWith(trace), trace);
      assertFalse(written(record(Level.SEVERE, "another")).has("trace_id"));
    }
  }
}
