package io.pipelane.modelstore.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.ByteSize;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.HostTier.Statistics;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostTierTest {
  private static final int FILE_BYTES = 64 << 10;

  @TempDir Path folder;

  private final AtomicInteger pinned = new AtomicInteger();
  private final MemoryPinner counting =
      memory -> {
        pinned.incrementAndGet();
        return pinned::decrementAndGet;
      };

  @Test
  void open_twice_mapsOnce() throws IOException {
    try (HostTier tier = tier(2 * FILE_BYTES);
        WeightSource first = open(tier, 1);
        WeightSource second = open(tier, 1)) {
      assertContent(first, 1);
      assertContent(second, 1);
      assertEquals(new Statistics(1, 1, 0, FILE_BYTES), tier.statistics());
    }
    assertEquals(0, pinned.get());
  }

  @Test
  void close_memoryThatCannotBeUnpinned_doesNotThrow() throws IOException {
    MemoryPinner failing =
        memory ->
            () -> {
              throw new IOException("unpin");
            };
    HostTier tier = new HostTier(new ByteSize(2 * FILE_BYTES), failing);
    WeightSource source = open(tier, 1);
    tier.close();
    assertContent(source, 1);
    source.close();
  }

  @Test
  void open_largerThanTheTier_isReadFromDisk() throws IOException {
    try (HostTier tier = tier(FILE_BYTES - 1);
        WeightSource source = open(tier, 1)) {
      assertContent(source, 1);
      assertEquals(new Statistics(0, 0, 1, 0), tier.statistics());
    }
    assertEquals(0, pinned.get());
  }

  @Test
  void open_beyondTheBound_keepsWithinItAndServesEveryLease() throws IOException {
    try (HostTier tier = tier(3 * FILE_BYTES)) {
      WeightSource[] sources = new WeightSource[8];
      for (int i = 0; i < sources.length; i++) {
        sources[i] = open(tier, i);
      }
      assertEquals(3 * FILE_BYTES, tier.statistics().mappedBytes());
      for (int i = 0; i < sources.length; i++) {
        assertContent(sources[i], i);
        sources[i].close();
      }
      assertEquals(3, pinned.get(), "what was given up is unpinned with its last lease");
    }
    assertEquals(0, pinned.get());
  }

  @Test
  void close_withOpenLease_unmapsWhenTheLeaseCloses() throws IOException {
    HostTier tier = tier(FILE_BYTES);
    WeightSource source = open(tier, 1);
    tier.close();
    assertContent(source, 1);
    assertEquals(1, pinned.get());
    source.close();
    source.close();
    assertEquals(0, pinned.get());
  }

  @Test
  void read_afterClose_fails() throws IOException {
    try (HostTier tier = tier(FILE_BYTES);
        HostTier none = tier(0)) {
      WeightSource mapped = open(tier, 1);
      mapped.close();
      assertThrows(IllegalStateException.class, () -> assertContent(mapped, 1));
      WeightSource direct = open(none, 1);
      direct.close();
      assertThrows(UncheckedIOException.class, () -> assertContent(direct, 1));
    }
  }

  @Test
  void read_beyondTheEnd_fails() throws IOException {
    try (HostTier tier = tier(FILE_BYTES);
        WeightSource source = open(tier, 1);
        Arena arena = Arena.ofConfined()) {
      MemorySegment target = arena.allocate(64);
      assertThrows(IndexOutOfBoundsException.class, () -> source.read(FILE_BYTES - 32, target));
    }
  }

  private HostTier tier(long bytes) {
    return new HostTier(new ByteSize(bytes), counting);
  }

  private WeightSource open(HostTier tier, int number) throws IOException {
    Path file = folder.resolve(Integer.toString(number));
    if (!Files.exists(file)) {
      byte[] content = new byte[FILE_BYTES];
      Arrays.fill(content, (byte) number);
      Files.write(file, content);
    }
    return tier.open(file, FILE_BYTES);
  }

  private static void assertContent(WeightSource source, int number) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment target = arena.allocate(128);
      source.read(FILE_BYTES - 128, target);
      assertEquals(number, target.get(ValueLayout.JAVA_BYTE, 127));
    }
  }
}
