package io.pipelane.server.net;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** What is logged until this is closed, by whomever. */
public final class CapturedLog extends Handler implements AutoCloseable {
  private static final Logger ROOT = Logger.getLogger("");

  private static final Formatter FORMATTER = new SimpleFormatter();

  private final List<String> lines = new CopyOnWriteArrayList<>();
  private final List<LogRecord> records = new CopyOnWriteArrayList<>();

  public CapturedLog() {
    ROOT.addHandler(this);
  }

  /** Each with who logged it. */
  public List<String> lines() {
    return lines;
  }

  /** What one class has logged, as it is written. */
  public List<String> texts(Class<?> logger) {
    return records.stream()
        .filter(record -> logger.getName().equals(record.getLoggerName()))
        .map(FORMATTER::formatMessage)
        .toList();
  }

  @Override
  public void publish(LogRecord record) {
    records.add(record);
    lines.add(record.getLoggerName() + ": " + record.getMessage());
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    ROOT.removeHandler(this);
  }
}
