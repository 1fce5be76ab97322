package io.pipelane.server.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.logging.ErrorManager;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class LogWriterTest {
  private static final String LEFT_OUT =
      " records were left out: 10 characters at most wait for the console";

  /** Longer than a test may take. */
  private static final Duration PATIENT = Duration.ofMinutes(1);

  private final Console console = new Console();

  private static LogRecord record(String text) {
    return new LogRecord(Level.INFO, text);
  }

  @Test
  void publish_callersThread_formsAndAnotherWrites() {
    LogWriter writer = new LogWriter(console, 100, PATIENT);

    writer.publish(record("one"));
    writer.publish(record("two"));
    writer.close();

    String caller = Thread.currentThread().getName();
    assertEquals(
        List.of(caller + ": one by log-writer", caller + ": two by log-writer"), console.written);
    assertTrue(console.closed, "the console is closed as well");
  }

  @Test
  void publish_belowLevelOrUnfiltered_isLeftOut() {
    console.setLevel(Level.WARNING);
    LogWriter writer = new LogWriter(console, 100, PATIENT);
    writer.publish(record("quiet"));
    writer.setLevel(Level.ALL);
    writer.setFilter(record -> !record.getMessage().equals("filtered"));
    writer.publish(record("filtered"));
    writer.publish(record("said"));

    writer.close();

    assertEquals(1, console.written.size());
  }

  @Test
  void publish_consoleThatStands_countsWhatDoesNotFit() throws Exception {
    console.setFormatter(new Plain());
    console.open = new CountDownLatch(1);
    LogWriter writer = new LogWriter(console, 10, PATIENT);
    writer.publish(record("first"));
    console.asked.await(); // It waits no longer: it is being written.

    List.of("123456789", "lost", "x", "lost too").forEach(text -> writer.publish(record(text)));
    console.open.countDown();
    writer.flush();
    writer.publish(record("larger than the queue"));
    writer.flush();

    assertEquals(
        List.of("first", "123456789", 1 + LEFT_OUT, "x", 1 + LEFT_OUT, 1 + LEFT_OUT),
        console.texts());
  }

  @Test
  void close_consoleThatStands_isNotWaitedForLong() throws Exception {
    console.open = new CountDownLatch(1);
    LogWriter writer = new LogWriter(console, 100, Duration.ofMillis(1));
    writer.publish(record("first"));
    console.asked.await();

    writer.flush();
    writer.close();
    writer.publish(record("late"));

    assertFalse(console.closed, "what writes to it is not disturbed");
    console.open.countDown();
    console.done.await();
    assertEquals(1, console.written.size(), "nothing is logged behind its close");
  }

  @Test
  void publish_consoleThatFails_goesOn() {
    console.failure = new OutOfMemoryError("for this record");
    LogWriter writer = new LogWriter(console, 100, PATIENT);
    writer.setErrorManager(new NoErrors());
    writer.publish(record("one"));
    writer.flush();
    console.failure = null;

    writer.publish(record("two"));
    writer.close();

    assertEquals(1, console.written.size());
  }

  @Test
  void publish_formThatFails_isReported() {
    console.setFormatter(
        new Formatter() {
          @Override
          public String format(LogRecord record) {
            throw new IllegalStateException("no form");
          }
        });
    LogWriter writer = new LogWriter(console, 100, PATIENT);
    List<String> reported = new CopyOnWriteArrayList<>();
    writer.setErrorManager(
        new ErrorManager() {
          @Override
          public synchronized void error(String text, Exception error, int code) {
            reported.add(String.valueOf(error.getMessage()));
          }
        });

    writer.publish(record("one"));
    writer.close();

    assertEquals(List.of("no form"), reported);
    assertEquals(List.of(), console.written);
  }

  private static final class NoErrors extends ErrorManager {
    @Override
    public synchronized void error(String text, Exception error, int code) {}
  }

  private static final class Plain extends Formatter {
    @Override
    public String format(LogRecord record) {
      return record.getMessage();
    }
  }

  /** A console that says by which threads a record was formed and written. */
  private static final class Console extends Handler {
    final List<String> written = new CopyOnWriteArrayList<>();
    final CountDownLatch asked = new CountDownLatch(1);
    volatile CountDownLatch open = new CountDownLatch(0);
    final CountDownLatch done = new CountDownLatch(1);
    volatile boolean closed;
    volatile @Nullable OutOfMemoryError failure;

    Console() {
      setFormatter(
          new Formatter() {
            @Override
            public String format(LogRecord record) {
              return Thread.currentThread().getName() + ": " + record.getMessage();
            }
          });
    }

    List<String> texts() {
      return written.stream().map(line -> line.replace(" by log-writer", "")).toList();
    }

    @Override
    public void publish(LogRecord record) {
      asked.countDown();
      try {
        open.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      OutOfMemoryError now = failure;
      if (now != null) {
        throw now;
      }
      written.add(getFormatter().format(record) + " by " + Thread.currentThread().getName());
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
      closed = true;
      done.countDown();
    }
  }
}
