package io.pipelane.server.observability;

import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.stream.Collectors;

/**
 * Writes log records as Java's own formatter does, each message on one line: control characters but
 * tabs, which the name of a folder may have, are written as Java writes them in a text.
 */
public final class TextLogFormatter extends SimpleFormatter {
  /** Has everything that is logged from now on written so, unless somebody has chosen a form. */
  public static void install() {
    for (Handler handler : Logger.getLogger("").getHandlers()) {
      Formatter formatter = handler.getFormatter();
      if (formatter != null && formatter.getClass().equals(SimpleFormatter.class)) {
        handler.setFormatter(new TextLogFormatter());
      }
    }
  }

  @Override
  public String formatMessage(LogRecord record) {
    return onALine(super.formatMessage(record));
  }

  /** A message without control characters but tabs. */
  static String onALine(String message) {
    return message.chars().anyMatch(Character::isISOControl)
        ? message.chars().mapToObj(TextLogFormatter::written).collect(Collectors.joining())
        : message;
  }

  private static String written(int character) {
    return switch (character) {
      case '\n' -> "\\n";
      case '\r' -> "\\r";
      case '\t' -> "\t"; // As in traces of workers, line by line.
      default ->
          Character.isISOControl(character)
              ? "\\u%04x".formatted(character)
              : Character.toString(character);
    };
  }
}
