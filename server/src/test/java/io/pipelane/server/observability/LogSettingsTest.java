package io.pipelane.server.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.server.observability.LogSetting.Format;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

class LogSettingsTest {
  private final Logger root = Logger.getAnonymousLogger();
  private final Logger own = Logger.getAnonymousLogger();
  private final List<String> lines = new ArrayList<>();
  private final LogSettings settings;

  LogSettingsTest() {
    root.setUseParentHandlers(false);
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord record) {
            if (isLoggable(record)) {
              lines.add(getFormatter().format(record));
            }
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    handler.setLevel(Level.INFO);
    handler.setFormatter(
        new Formatter() {
          @Override
          public String format(LogRecord record) {
            return record.getMessage();
          }
        });
    root.addHandler(handler);
    own.setParent(root);
    settings = new LogSettings(root, own);
  }

  private List<String> logged() {
    lines.clear();
    own.severe("error");
    own.warning("warning");
    own.info("information");
    own.fine("fine");
    own.finest("finest");
    root.fine("of a library");
    return lines;
  }

  @Test
  void levels_areLetThroughAsTheyAreSet() {
    assertEquals(List.of("error", "warning", "information"), logged());
    settings.set(new LogSetting(true, true, true, 1, Format.STANDARD));
    assertEquals(List.of("error", "warning", "information", "fine"), logged());
    settings.set(new LogSetting(true, true, true, 2, Format.STANDARD));
    assertEquals(List.of("error", "warning", "information", "fine", "finest"), logged());
    settings.set(new LogSetting(false, true, false, 1, Format.STANDARD));
    assertEquals(List.of("warning", "fine"), logged());
    settings.set(LogSetting.STANDARD);
    assertEquals(List.of("error", "warning", "information"), logged());
  }

  @Test
  void format_isWhatItWasOrHasDateAndZone() {
    settings.set(new LogSetting(true, true, true, 0, Format.ISO8601));
    String line = logged().getFirst();
    assertTrue(line.matches("\\d{4}-\\d\\d-\\d\\dT\\S+Z SEVERE  error\\R"), line);
    lines.clear();
    own.log(Level.WARNING, "failed", new IllegalStateException("broken"));
    assertTrue(lines.getFirst().contains("IllegalStateException: broken"), lines.getFirst());
    settings.set(LogSetting.STANDARD);
    assertEquals("error", logged().getFirst());
  }

  @Test
  void levelThatThereIsNot_isRefused() {
    assertThrows(StatusException.class, () -> new LogSetting(true, true, true, 3, Format.STANDARD));
  }
}
