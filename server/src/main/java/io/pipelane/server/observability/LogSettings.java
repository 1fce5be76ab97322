package io.pipelane.server.observability;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.Map;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** The settings of the process's log, which can change while it runs. Safe for any thread. */
public final class LogSettings {
  /*
   * Handlers let everything through to a filter that looks at `setting`; how much there is to be
   * filtered is the loggers' level: the server's own get verbose, libraries stay as they are.
   */

  private final Logger own;
  private final Map<Handler, Formatter> formatters = new HashMap<>();
  private volatile LogSetting setting = LogSetting.STANDARD;

  /**
   * @param root whose handlers write
   * @param own above all that the server's classes log with
   */
  LogSettings(Logger root, Logger own) {
    this.own = own;
    for (Handler handler : root.getHandlers()) {
      Formatter formatter = handler.getFormatter();
      formatters.put(handler, formatter == null ? new SimpleFormatter() : formatter);
    }
  }

  /** The settings of this process. */
  public static LogSettings ofProcess() {
    return new LogSettings(Logger.getLogger(""), Logger.getLogger("io.pipelane"));
  }

  /** Those of nothing, for a server that is not to touch its process. */
  public static LogSettings ofNothing() {
    Logger nowhere = Logger.getAnonymousLogger();
    nowhere.setUseParentHandlers(false);
    return new LogSettings(nowhere, nowhere);
  }

  public LogSetting setting() {
    return setting;
  }

  /** Heeds another setting from now on. */
  public synchronized void set(LogSetting wanted) {
    setting = wanted;
    formatters.forEach(
        (handler, standard) -> {
          handler.setLevel(Level.ALL);
          handler.setFilter(record -> setting.admits(record.getLevel()));
          handler.setFormatter(
              switch (wanted.format()) {
                case STANDARD -> standard;
                case ISO8601 -> new Iso8601Formatter();
              });
        });
    own.setLevel(wanted.leastVerbose());
  }

  /** One line a record, and the error's where there is one. */
  private static final class Iso8601Formatter extends Formatter {
    @Override
    public String format(LogRecord record) {
      String time = record.getInstant().truncatedTo(ChronoUnit.MILLIS).toString();
      String line =
          "%s %-7s %s%n"
              .formatted(time, record.getLevel(), TextLogFormatter.onALine(formatMessage(record)));
      return record.getThrown() == null ? line : line + trace(record);
    }

    private static String trace(LogRecord record) {
      StringWriter trace = new StringWriter();
      record.getThrown().printStackTrace(new PrintWriter(trace, true));
      return trace.toString();
    }
  }
}
