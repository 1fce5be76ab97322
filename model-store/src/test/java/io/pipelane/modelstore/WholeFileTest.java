package io.pipelane.modelstore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WholeFileTest {
  @TempDir private Path folder = Path.of("");

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  void write_isInPlaceOfWhatWasThere_andLeavesNothingElse() throws IOException {
    Path file = folder.resolve("a.tsv");
    WholeFile.write(file, bytes("a longer one"));
    WholeFile.write(file, bytes("short"));
    assertEquals("short", Files.readString(file));
    assertEquals(List.of("a.tsv"), names());
  }

  @Test
  void write_whatFails_leavesTheFileAsItWasAndNothingElse() throws IOException {
    Path file = folder.resolve("a.tsv");
    WholeFile.write(file, bytes("before"));
    assertThrows(
        IOException.class,
        () ->
            WholeFile.write(
                file,
                channel -> {
                  channel.write(ByteBuffer.wrap(bytes("half")));
                  throw new IOException("the disk is full");
                }));
    assertEquals("before", Files.readString(file));
    assertEquals(List.of("a.tsv"), names(), "a draft keeps room that others may wait for");
  }
}
