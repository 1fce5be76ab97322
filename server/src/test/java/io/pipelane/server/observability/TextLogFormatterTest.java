package io.pipelane.server.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.logging.Level;
import java.util.logging.LogRecord;
import org.junit.jupiter.api.Test;

class TextLogFormatterTest {
  @Test
  void format_controlCharacters_areEscaped() {
    LogRecord record = new LogRecord(Level.WARNING, "{0} is none");
    record.setParameters(new Object[] {"a\nb\r\t\u001bé"});

    String written = new TextLogFormatter().format(record);

    assertTrue(written.contains("a\\nb\\r\t\\u001bé is none"), written);
  }

  @Test
  void format_error_keepsTheLinesOfItsTrace() {
    LogRecord record = new LogRecord(Level.WARNING, "it failed");
    record.setThrown(new IllegalStateException("because"));

    assertTrue(new TextLogFormatter().format(record).lines().count() > 2);
    assertEquals("it failed", new TextLogFormatter().formatMessage(record));
  }
}
