package io.pipelane.server.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WatchedFileTest {
  @TempDir Path folder;
  private final AtomicBoolean readable = new AtomicBoolean(true);
  private Path file = Path.of("");

  @BeforeEach
  void write() throws IOException {
    file = folder.resolve("file");
    replace("first", 1);
  }

  private void replace(String text, long seconds) throws IOException {
    Files.writeString(file, text);
    Files.setLastModifiedTime(file, FileTime.fromMillis(1000 * seconds));
  }

  private WatchedFile<String> watched() {
    return new WatchedFile<>("words", file, _ -> read());
  }

  private String read() {
    if (!readable.get()) {
      throw new StatusException(Status.INVALID_ARGUMENT, "the file may not be read");
    }
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void fileThatCouldNotBeRead_isTriedAgainThoughItsTimeStays() throws IOException {
    WatchedFile<String> watched = watched();
    watched.look();
    readable.set(false);
    replace("second", 2);
    watched.lookAgain();
    assertThrows(StatusException.class, watched::look);
    assertEquals("first", watched.value());
    readable.set(true);
    watched.lookAgain();
    assertEquals("second", watched.value());
  }

  @Test
  void fileThatCannotBeRead_isWarnedOfOncePerChange() throws IOException {
    WatchedFile<String> watched = watched();
    watched.look();
    readable.set(false);
    replace("second", 2);
    List<LogRecord> records =
        warnings(
            () -> {
              watched.lookAgain();
              watched.lookAgain();
              replace("third", 3);
              watched.lookAgain();
              watched.lookAgain();
            });
    assertEquals(2, records.size());
  }

  @Test
  void fileThatIsMissing_isWarnedOfOnceEachTime() throws IOException {
    WatchedFile<String> watched = watched();
    watched.look();
    List<LogRecord> records =
        warnings(
            () -> {
              Files.delete(file);
              watched.lookAgain();
              watched.lookAgain();
              replace("first", 1);
              watched.lookAgain();
              Files.delete(file);
              watched.lookAgain();
            });
    assertEquals(2, records.size());
    assertEquals("first", watched.value());
  }

  private interface Steps {
    void run() throws IOException;
  }

  private static List<LogRecord> warnings(Steps steps) throws IOException {
    List<LogRecord> records = new ArrayList<>();
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord record) {
            if (record.getLevel().intValue() >= Level.WARNING.intValue()) {
              records.add(record);
            }
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Logger logger = Logger.getLogger(WatchedFile.class.getName());
    logger.addHandler(handler);
    try {
      steps.run();
    } finally {
      logger.removeHandler(handler);
    }
    return records;
  }
}
