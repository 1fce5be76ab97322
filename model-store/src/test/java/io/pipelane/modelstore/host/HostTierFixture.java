package io.pipelane.modelstore.host;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.WeightSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.io.TempDir;

/** Files of weights, and host tiers that hold some of them. */
abstract class HostTierFixture {
  static final int FILE_BYTES = 64 << 10;

  @TempDir Path folder;

  final AtomicInteger loaded = new AtomicInteger();

  final HostMemory counting =
      file -> {
        HostMemory.Loaded mapped = HostMemory.PAGE_CACHE.load(file);
        loaded.incrementAndGet();
        return new Loaded(
            mapped.memory(),
            () -> {
              loaded.decrementAndGet();
              mapped.close();
            });
      };

  record Loaded(MemorySegment memory, Runnable closing) implements HostMemory.Loaded {
    @Override
    public void close() {
      closing.run();
    }
  }

  static int byteAt(WeightSource source, long offset) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment target = arena.allocate(1);
      source.read(offset, target);
      return target.get(ValueLayout.JAVA_BYTE, 0);
    }
  }

  HostTier tier(long bytes) {
    return HostTier.mapping(new ByteSize(bytes), counting);
  }

  WeightSource open(HostTier tier, int number) throws IOException {
    return tier.open(write(number), FILE_BYTES);
  }

  Path write(int number) throws IOException {
    Path file = folder.resolve(Integer.toString(number));
    if (!Files.exists(file)) {
      byte[] content = new byte[FILE_BYTES];
      Arrays.fill(content, (byte) number);
      Files.write(file, content);
    }
    return file;
  }

  static void assertContent(WeightSource source, int number) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment target = arena.allocate(128);
      source.read(FILE_BYTES - 128, target);
      assertEquals(number, target.get(ValueLayout.JAVA_BYTE, 127));
    }
  }
}
