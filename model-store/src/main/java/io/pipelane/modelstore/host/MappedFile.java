package io.pipelane.modelstore.host;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A file mapped into memory: its bytes are the page cache's. */
record MappedFile(Arena arena, MemorySegment memory) implements HostMemory.Loaded {
  static MappedFile map(Path file) throws IOException {
    Arena arena = Arena.ofShared();
    boolean mapped = false;
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      MemorySegment memory = channel.map(MapMode.READ_ONLY, 0, channel.size(), arena);
      mapped = true;
      return new MappedFile(arena, memory);
    } finally {
      if (!mapped) {
        arena.close();
      }
    }
  }

  @Override
  public void close() {
    arena.close();
  }
}
