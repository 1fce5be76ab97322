package io.pipelane.server.net;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** What is logged until this is closed, by whomever. */
public final class CapturedLog extends Handler implements AutoCloseable {
  private static final Logger ROOT = Logger.getLogger("");

  private final List<String> lines = new CopyOnWriteArrayList<>();

  public CapturedLog() {
    ROOT.addHandler(this);
  }

  /** Each with who logged it. */
  public List<String> lines() {
    return lines;
  }

  @Override
  public void publish(LogRecord record) {
    lines.add(record.getLoggerName() + ": " + record.getMessage());
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    ROOT.removeHandler(this);
  }
}
