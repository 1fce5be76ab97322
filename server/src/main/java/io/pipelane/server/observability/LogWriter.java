package io.pipelane.server.observability;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.logging.ConsoleHandler;
import java.util.logging.ErrorManager;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Writes the log by a thread of its own. Whoever logs forms the line and goes on: a console that is
 * a slow file, or a pipe that nobody reads, holds up no event loop and no request. What is more
 * than may wait is left out, and how much that was is told. Safe for any thread.
 */
public final class LogWriter extends Handler {
  /** Of all lines that wait, in characters. */
  static final int LONGEST_QUEUE = 4 << 20;

  /** How long {@link #flush} and {@link #close} wait for a console. */
  static final Duration LONGEST_WAIT = Duration.ofMillis(500);

  private final Handler console;
  private final int longestQueue;
  private final Duration longestWait;
  private final Thread thread;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Queue<LogRecord> lines = new ArrayDeque<>(); // guarded by the lock, as the next
  private int queued;
  private long leftOut;
  private boolean writing;
  private boolean closed;

  /**
   * @param console writes lines, and only those that it is given from now on
   * @param longestQueue see {@link #LONGEST_QUEUE}
   * @param longestWait see {@link #LONGEST_WAIT}
   */
  LogWriter(Handler console, int longestQueue, Duration longestWait) {
    this.console = console;
    this.longestQueue = longestQueue;
    this.longestWait = longestWait;
    setLevel(console.getLevel());
    setFilter(console.getFilter());
    setFormatter(console.getFormatter());
    console.setLevel(Level.ALL);
    console.setFilter(null);
    console.setFormatter(new Verbatim());
    this.thread = Thread.ofPlatform().daemon().name("log-writer").start(this::write);
  }

  /** Has what is logged to the console from now on written so. */
  public static void install() {
    Logger root = Logger.getLogger("");
    for (Handler handler : root.getHandlers()) {
      if (handler instanceof ConsoleHandler) {
        root.removeHandler(handler);
        root.addHandler(new LogWriter(handler, LONGEST_QUEUE, LONGEST_WAIT));
      }
    }
  }

  @Override
  public void publish(LogRecord logged) {
    if (!isLoggable(logged)) {
      return;
    }
    String text = form(logged);
    if (text.isEmpty()) {
      return;
    }
    LogRecord line = new LogRecord(logged.getLevel(), text);
    lock.lock();
    try {
      if (!closed) {
        add(line);
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /** What was left out before is told where it would have stood. */
  private void add(LogRecord line) {
    if (!hasRoomFor(line)) {
      leftOut++;
      return;
    }
    if (leftOut > 0) {
      enqueue(told(leftOut));
      leftOut = 0;
    }
    enqueue(line);
  }

  private boolean hasRoomFor(LogRecord line) {
    return line.getMessage().length() <= longestQueue - queued;
  }

  private void enqueue(LogRecord line) {
    queued += line.getMessage().length();
    lines.add(line);
  }

  private LogRecord told(long records) {
    LogRecord told =
        new LogRecord(
            Level.WARNING,
            "%d records were left out: %d characters at most wait for the console"
                .formatted(records, longestQueue));
    told.setLoggerName(LogWriter.class.getName());
    return new LogRecord(told.getLevel(), form(told));
  }

  /** A record as a line; empty where it cannot be formed. */
  private String form(LogRecord logged) {
    try {
      return getFormatter().format(logged);
    } catch (RuntimeException e) {
      reportError(null, e, ErrorManager.FORMAT_FAILURE);
      return "";
    }
  }

  private void write() {
    for (LogRecord line = next(); line != null; line = next()) {
      try {
        console.publish(line);
      } catch (RuntimeException | OutOfMemoryError e) { // There will be memory for later ones.
        reportError("a record was not written: " + e, null, ErrorManager.WRITE_FAILURE);
      }
    }
    console.close();
  }

  /** The next line, once there is one; null once all are written and there will be none. */
  private @Nullable LogRecord next() {
    lock.lock();
    try {
      writing = false;
      changed.signalAll();
      while (lines.isEmpty() && leftOut == 0 && !closed) {
        changed.awaitUninterruptibly();
      }
      if (lines.isEmpty() && leftOut > 0) {
        enqueue(told(leftOut));
        leftOut = 0;
      }
      LogRecord line = lines.poll();
      if (line != null) {
        queued -= line.getMessage().length();
      }
      writing = line != null;
      return line;
    } finally {
      lock.unlock();
    }
  }

  /** Waits until what has been logged is written, but not for long. */
  @Override
  public void flush() {
    long left = longestWait.toNanos();
    lock.lock();
    try {
      while (left > 0 && (writing || !lines.isEmpty() || leftOut > 0)) {
        left = changed.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
  }

  /** Nothing is logged any more; what has been is written, unless that takes long. */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    try {
      boolean _ = thread.join(longestWait);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Lines are formed already. */
  private static final class Verbatim extends Formatter {
    @Override
    public String format(LogRecord line) {
      return line.getMessage();
    }
  }
}
