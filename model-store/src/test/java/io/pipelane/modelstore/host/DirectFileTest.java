package io.pipelane.modelstore.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DirectFileTest {
  private static final int PAGE = 4096;
  private static final int BYTES = 5 * PAGE + 77;

  @TempDir private Path folder;
  private Path file = Path.of("");
  private MemorySegment content = MemorySegment.NULL;
  private final MemorySegment target = Arena.ofAuto().allocate(BYTES + PAGE, PAGE);

  @BeforeEach
  void write() throws IOException {
    byte[] bytes = new byte[BYTES];
    new Random(1).nextBytes(bytes);
    content = MemorySegment.ofArray(bytes);
    file = Files.write(folder.resolve("weights"), bytes);
  }

  @Test
  void read_pastThePageCache_isTheContent() throws IOException {
    try (DirectFile direct = DirectFile.openDirectly(file)) {
      assumeTrue(direct.isDirect(), "this file system reads nothing past the page cache");
      assertRead(direct, 0, BYTES, 0);
      assertRead(direct, PAGE, 2 * PAGE, 0);
      assertRead(direct, PAGE, 2 * PAGE, 5); // Where no block may begin.
      assertRead(direct, 100, 3 * PAGE, 0);
      assertRead(direct, BYTES - 10, 10, 0);
    }
  }

  @Test
  void read_whatHasJustBeenWritten_comesFromThePageCache() throws IOException {
    try (DirectFile cached = DirectFile.open(file)) {
      assertFalse(cached.isDirect());
      assertRead(cached, 0, BYTES, 0);
    }
  }

  @Test
  void read_beyondTheEnd_fails() throws IOException {
    try (DirectFile direct = DirectFile.openDirectly(file)) {
      MemorySegment tooMuch = target.asSlice(0, BYTES + 1);
      assertThrows(EOFException.class, () -> direct.read(0, tooMuch));
    }
  }

  @Test
  void read_nothingOfAnEmptyFile_isNothing() throws IOException {
    try (DirectFile empty = DirectFile.open(Files.createFile(folder.resolve("empty")))) {
      empty.read(0, target.asSlice(0, 0));
    }
  }

  private void assertRead(DirectFile source, long offset, long bytes, long skew)
      throws IOException {
    MemorySegment read = target.asSlice(skew, bytes);
    read.fill((byte) 0);
    source.read(offset, read);
    assertEquals(-1, read.mismatch(content.asSlice(offset, bytes)));
  }
}
