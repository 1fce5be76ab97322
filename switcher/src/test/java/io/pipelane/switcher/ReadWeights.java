package io.pipelane.switcher;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.StandardOpenOption;

/** Weights that are read from a model's file. */
final class ReadWeights {
  private ReadWeights() {}

  static WeightSource of(ImportedModel model) {
    Arena arena = Arena.ofShared();
    try (FileChannel file = FileChannel.open(model.weights(), StandardOpenOption.READ)) {
      return new Mapped(arena, file.map(MapMode.READ_ONLY, 0, file.size(), arena));
    } catch (IOException e) {
      arena.close();
      throw new UncheckedIOException(e);
    }
  }

  private record Mapped(Arena arena, MemorySegment bytes) implements WeightSource {
    @Override
    public long byteSize() {
      return bytes.byteSize();
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      destination.copyFrom(bytes.asSlice(offset, destination.byteSize()));
    }

    @Override
    public void close() {
      arena.close();
    }
  }
}
