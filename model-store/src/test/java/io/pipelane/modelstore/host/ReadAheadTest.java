package io.pipelane.modelstore.host;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.pipelane.config.ByteSize;
import io.pipelane.modelstore.WeightSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whatever the system is asked for ahead, what is read is the file. */
class ReadAheadTest {
  private static final int BYTES = (130 << 20) + 13;
  private static final int PIECE = 5 << 20;

  @TempDir private Path folder;

  @Test
  void read_inOrderOverSeveralWindows_isTheFilesContent() throws IOException {
    byte[] content = new byte[BYTES];
    new Random(1).nextBytes(content);
    Path file = Files.write(folder.resolve("weights"), content);
    for (long tierBytes : new long[] {0, BYTES}) {
      try (HostTier tier = HostTier.mapping(new ByteSize(tierBytes));
          WeightSource source = tier.open(file, BYTES);
          Arena arena = Arena.ofConfined()) {
        MemorySegment target = arena.allocate(BYTES);
        for (int at = 1; at < BYTES; at += PIECE) {
          source.read(at, target.asSlice(at, Math.min(PIECE, BYTES - at)));
        }
        source.read(0, target.asSlice(0, 1)); // Behind what was read before.
        assertArrayEquals(content, target.toArray(ValueLayout.JAVA_BYTE));
      }
    }
  }
}
