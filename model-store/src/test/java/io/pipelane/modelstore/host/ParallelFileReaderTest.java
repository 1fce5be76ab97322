package io.pipelane.modelstore.host;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ParallelFileReaderTest {
  @TempDir Path folder;

  @Test
  void read_ofSeveralChunks_isTheFilesContent() throws IOException {
    byte[] content = new byte[(17 << 20) + 13];
    new Random(1).nextBytes(content);
    Path file = Files.write(folder.resolve("weights"), content);
    try (Arena arena = Arena.ofShared()) {
      MemorySegment target = arena.allocate(content.length);
      ParallelFileReader.read(file, target, 4, new Filling());
      assertArrayEquals(content, target.toArray(ValueLayout.JAVA_BYTE));
    }
  }

  @Test
  void read_ofAFileTooShort_fails() throws IOException {
    Path file = Files.write(folder.resolve("weights"), new byte[100]);
    try (Arena arena = Arena.ofShared()) {
      MemorySegment target = arena.allocate(101);
      assertThrows(
          IOException.class, () -> ParallelFileReader.read(file, target, 4, new Filling()));
    }
  }
}
