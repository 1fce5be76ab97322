package io.pipelane.modelstore.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.HostTier.Statistics;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** What the host tier reads, and whom it serves meanwhile. */
class HostTierTest extends HostTierFixture {
  @Test
  void open_twice_mapsOnce() throws IOException {
    try (HostTier tier = tier(2 * FILE_BYTES);
        WeightSource first = open(tier, 1);
        WeightSource second = open(tier, 1)) {
      assertContent(first, 1);
      assertContent(second, 1);
      assertEquals(new Statistics(1, 1, 0, FILE_BYTES, 0, 0), tier.statistics());
    }
    assertEquals(0, loaded.get());
  }

  @Test
  void open_twoLinksToOneFile_areThereOnce() throws IOException {
    Path link = folder.resolve("the same content");
    Files.createLink(link, write(1));
    try (HostTier tier = tier(2 * FILE_BYTES);
        WeightSource first = open(tier, 1);
        WeightSource second = tier.open(link, FILE_BYTES)) {
      assertContent(first, 1);
      assertContent(second, 1);
      assertEquals(new Statistics(1, 1, 0, FILE_BYTES, 0, 0), tier.statistics());
    }
    assertEquals(0, loaded.get());
  }

  @Test
  void open_ofAFileThatIsGone_findsWhatIsInMemory() throws IOException {
    try (HostTier tier = tier(2 * FILE_BYTES)) {
      open(tier, 1).close();
      Path file = write(1);
      Files.delete(file);
      try (WeightSource source = tier.open(file, FILE_BYTES)) {
        assertContent(source, 1);
      }
    }
  }

  @Test
  void open_ofAFileThatWasReplaced_readsTheNewOne() throws IOException {
    try (HostTier tier = tier(2 * FILE_BYTES)) {
      open(tier, 1).close();
      Path file = write(1);
      Files.move(write(2), file, StandardCopyOption.REPLACE_EXISTING);
      try (WeightSource source = tier.open(file, FILE_BYTES)) {
        assertContent(source, 2);
      }
    }
  }

  @Test
  void close_memoryThatCannotBeGivenBack_doesNotThrow() throws IOException {
    HostMemory failing =
        file ->
            new Loaded(
                HostMemory.PAGE_CACHE.load(file).memory(),
                () -> {
                  throw new IllegalStateException("unpin");
                });
    HostTier tier = HostTier.mapping(new ByteSize(2 * FILE_BYTES), failing);
    WeightSource source = open(tier, 1);
    tier.close();
    assertContent(source, 1);
    source.close();
  }

  /** What was just written is in the page cache. */
  @Test
  void isInMemory_mappedOrBeyondTheTier_isAsThePageCacheSays() throws IOException {
    for (int capacity : new int[] {2 * FILE_BYTES, 0}) {
      try (HostTier tier = tier(capacity);
          WeightSource source = open(tier, 1)) {
        source.bringIntoMemory(100, FILE_BYTES - 100);
        assertTrue(source.isInMemory(100, FILE_BYTES - 100));
      }
    }
  }

  @Test
  void close_withOpenLease_unmapsWhenTheLeaseCloses() throws IOException {
    HostTier tier = tier(FILE_BYTES);
    WeightSource source = open(tier, 1);
    tier.close();
    assertContent(source, 1);
    assertEquals(1, loaded.get());
    source.close();
    source.close();
    assertEquals(0, loaded.get());
  }

  /** As one does whose tier is closed at the same time. */
  @Test
  void open_afterClose_readsFromDisk() throws IOException {
    HostTier tier = HostTier.filling(new ByteSize(2 * FILE_BYTES), counting);
    tier.close();
    try (WeightSource source = open(tier, 1)) {
      assertContent(source, 1);
    }
    assertEquals(0, loaded.get());
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

  @Test
  void open_whileTheFileIsLoaded_readsFromDiskAndNeverWaits() throws Exception {
    CountDownLatch mayLoad = new CountDownLatch(1);
    HostMemory slow =
        file -> {
          try {
            mayLoad.await();
          } catch (InterruptedException e) {
            throw new IOException(e);
          }
          return counting.load(file);
        };
    try (HostTier tier = HostTier.filling(new ByteSize(FILE_BYTES), slow)) {
      try (WeightSource source = open(tier, 1)) {
        assertContent(source, 1);
        assertTrue(source.memory().isEmpty());
      }
      mayLoad.countDown();
      tier.prepare(folder.resolve("1"), FILE_BYTES);
    }
    assertEquals(0, loaded.get());
  }

  /** Memory whose content tells it from the file, half of which comes when it may. */
  private static final class HalfAtATime implements HostMemory {
    final CountDownLatch half = new CountDownLatch(1);
    final CountDownLatch mayGoOn = new CountDownLatch(1);
    boolean fails;

    @Override
    public HostMemory.Loaded load(Path file) throws IOException {
      return load(file, new Filling());
    }

    @Override
    public HostMemory.Loaded load(Path file, Filling filling) throws IOException {
      Arena arena = Arena.ofShared();
      MemorySegment memory = arena.allocate(FILE_BYTES).fill((byte) 100);
      filling.begun(memory);
      filling.came(0, FILE_BYTES / 2);
      half.countDown();
      try {
        mayGoOn.await();
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
      if (fails) {
        filling.end();
        arena.close();
        throw new IOException("the disk is broken");
      }
      filling.came(FILE_BYTES / 2, FILE_BYTES);
      return new HostTierFixture.Loaded(memory, arena::close);
    }
  }

  @Test
  void open_whileTheFileIsLoaded_followsAndThenReadsWhatIsHeld() throws Exception {
    HalfAtATime memory = new HalfAtATime();
    try (HostTier tier = HostTier.filling(new ByteSize(FILE_BYTES), memory);
        WeightSource source = open(tier, 1);
        WeightSource second = open(tier, 1)) {
      memory.half.await();
      assertEquals(100, byteAt(source, 0));
      assertEquals(100, byteAt(second, FILE_BYTES / 2 - 1));
      assertTrue(source.memory().isEmpty());
      memory.mayGoOn.countDown();
      assertEquals(100, byteAt(source, FILE_BYTES - 1));
      tier.prepare(folder.resolve("1"), 0);
      assertEquals(100, byteAt(second, FILE_BYTES - 1));
      assertEquals(FILE_BYTES, tier.statistics().heldBytes());
      assertEquals(2, tier.statistics().direct());
    }
  }

  @Test
  void open_whileTheFileIsLoaded_goesOnFromDiskWhenThatFails() throws Exception {
    HalfAtATime memory = new HalfAtATime();
    memory.fails = true;
    try (HostTier tier = HostTier.filling(new ByteSize(FILE_BYTES), memory);
        WeightSource source = open(tier, 1)) {
      memory.half.await();
      assertEquals(100, byteAt(source, 0));
      memory.mayGoOn.countDown();
      assertEquals(1, byteAt(source, FILE_BYTES - 1));
      assertEquals(1, byteAt(source, 0));
      assertTrue(source.memory().isEmpty());
    }
  }

  @Test
  void open_whileAnotherFileIsLoaded_readsFromDisk() throws Exception {
    HalfAtATime memory = new HalfAtATime();
    try (HostTier tier = HostTier.filling(new ByteSize(2 * FILE_BYTES), memory);
        WeightSource first = open(tier, 1)) {
      memory.half.await();
      try (WeightSource second = open(tier, 2)) {
        assertEquals(2, byteAt(second, 0));
      }
      memory.mayGoOn.countDown();
      assertEquals(100, byteAt(first, FILE_BYTES - 1));
    }
  }
}
