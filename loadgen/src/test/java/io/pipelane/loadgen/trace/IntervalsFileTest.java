package io.pipelane.loadgen.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.loadgen.file.FilesRead;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IntervalsFileTest {
  @TempDir private Path folder;

  @Test
  void read_numbers_inMicroseconds() throws Exception {
    FilesRead read = new FilesRead();
    Path file = Files.writeString(folder.resolve("i"), "100\n\n 0 \n3000000\n");

    assertEquals(
        List.of(Duration.ofNanos(100_000), Duration.ZERO, Duration.ofSeconds(3)),
        IntervalsFile.read(file, read));
    assertEquals(List.of(file.toString()), List.copyOf(read.digests().keySet()));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'5\n1.5' | line 2: \"1.5\"",
        "-1 | line 1",
        "3600000001 | up to an hour",
        "'' | no",
        "'0\n0' | /i holds intervals that are too short: rate must be",
        "'0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n1' | too short"
      })
  void read_somethingElse_refusedWithTheLine(String content, String message) throws Exception {
    Path file = Files.writeString(folder.resolve("i"), content);

    StatusException refused =
        assertThrows(StatusException.class, () -> IntervalsFile.read(file, new FilesRead()));

    assertTrue(refused.toString().contains(message), refused.toString());
  }
}
