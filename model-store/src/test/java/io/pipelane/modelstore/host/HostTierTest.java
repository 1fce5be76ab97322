package io.pipelane.modelstore.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.Batching;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Padding;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.HostTier.Statistics;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.graph.InPlaceWeight;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostTierTest {
  private static final int FILE_BYTES = 64 << 10;

  @TempDir Path folder;

  private final AtomicInteger loaded = new AtomicInteger();
  private final HostMemory counting =
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

  private record Loaded(MemorySegment memory, Runnable closing) implements HostMemory.Loaded {
    @Override
    public void close() {
      closing.run();
    }
  }

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
  void open_largerThanTheTier_isReadFromDisk() throws IOException {
    try (HostTier tier = tier(FILE_BYTES - 1);
        WeightSource source = open(tier, 1)) {
      assertContent(source, 1);
      assertEquals(new Statistics(0, 0, 1, 0, 0, 0), tier.statistics());
    }
    assertEquals(0, loaded.get());
  }

  @Test
  void open_beyondTheBound_keepsWithinItAndServesEveryLease() throws IOException {
    try (HostTier tier = tier(3 * FILE_BYTES)) {
      WeightSource[] sources = new WeightSource[8];
      for (int i = 0; i < sources.length; i++) {
        sources[i] = open(tier, i);
      }
      assertEquals(3 * FILE_BYTES, tier.statistics().heldBytes());
      for (int i = 0; i < sources.length; i++) {
        assertContent(sources[i], i);
        sources[i].close();
      }
      assertEquals(3, loaded.get(), "what was given up is given back with its last lease");
    }
    assertEquals(0, loaded.get());
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
      return new HostTierTest.Loaded(memory, arena::close);
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

  private static int byteAt(WeightSource source, long offset) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment target = arena.allocate(1);
      source.read(offset, target);
      return target.get(ValueLayout.JAVA_BYTE, 0);
    }
  }

  @Test
  void prepare_withRoom_makesTheFirstLeaseAHit() throws IOException {
    try (HostTier tier = HostTier.filling(new ByteSize(2 * FILE_BYTES), counting)) {
      tier.prepare(write(1), FILE_BYTES);
      tier.prepare(write(2), FILE_BYTES);
      tier.prepare(write(3), FILE_BYTES);
      assertEquals(2, loaded.get(), "nothing is given up for what nobody has asked for");
      try (WeightSource source = open(tier, 2)) {
        assertContent(source, 2);
        assertTrue(source.memory().isPresent());
      }
      assertEquals(new Statistics(1, 0, 0, 2 * FILE_BYTES, 0, 0), tier.statistics());
    }
    assertEquals(0, loaded.get());
  }

  @Test
  void readAhead_withRoom_fillsItAndGivesUpNothing() throws IOException {
    try (HostTier tier = HostTier.filling(new ByteSize(2 * FILE_BYTES), counting)) {
      assertEquals(0, tier.readAhead(write(1), FILE_BYTES, () -> false), "it is not to go on");
      assertEquals(FILE_BYTES, tier.readAhead(write(1), FILE_BYTES, () -> true));
      assertEquals(0, tier.readAhead(write(1), FILE_BYTES, () -> true), "it is there");
      assertEquals(FILE_BYTES, tier.readAhead(write(2), FILE_BYTES, () -> true));
      assertEquals(0, tier.readAhead(write(3), FILE_BYTES, () -> true), "there is no room");
      try (WeightSource source = open(tier, 1)) {
        assertContent(source, 1);
      }
      assertEquals(
          new Statistics(1, 0, 0, 2 * FILE_BYTES, 0, 0, 2, 2 * FILE_BYTES), tier.statistics());
    }
    assertEquals(0, loaded.get());
  }

  @Test
  void readAhead_ofMappedFiles_mapsWhatThereIsRoomForAndCountsWhatWasRead() throws IOException {
    try (HostTier tier = tier(FILE_BYTES)) {
      long read = tier.readAhead(write(1), FILE_BYTES, () -> true);
      assertTrue(read == 0 || read == FILE_BYTES, "the page cache may have it: " + read);
      assertEquals(0, tier.readAhead(write(1), FILE_BYTES, () -> true), "it has it now");
      assertEquals(0, tier.readAhead(write(2), FILE_BYTES, () -> true), "there is no room");
      assertEquals(FILE_BYTES, tier.statistics().heldBytes());
      assertEquals(read, tier.statistics().bytesAhead());
    }
    assertEquals(0, loaded.get());
  }

  /** Another's memory is there to be read into. */
  @Test
  void load_beyondTheBound_givesUpOthersFirst() throws IOException {
    List<Integer> present = new CopyOnWriteArrayList<>();
    HostMemory noting =
        file -> {
          present.add(loaded.get());
          return counting.load(file);
        };
    try (HostTier tier = HostTier.filling(new ByteSize(2 * FILE_BYTES), noting)) {
      for (int i = 1; i <= 4; i++) {
        Path file = write(i);
        while (present.size() < i) { // Asked more often than the others, it gets in.
          tier.prepare(file, 0);
        }
      }
      assertEquals(List.of(0, 1, 1, 1), present);
      assertEquals(2 * FILE_BYTES, tier.statistics().heldBytes());
    }
    assertEquals(0, loaded.get());
  }

  @Test
  void load_thatFails_leavesNothing() throws IOException {
    HostMemory failing =
        file -> {
          throw new IOException("the disk is broken");
        };
    try (HostTier tier = HostTier.filling(new ByteSize(FILE_BYTES), failing)) {
      Path file = write(1);
      for (int i = 0; i < 2; i++) {
        assertThrows(UncheckedIOException.class, () -> tier.prepare(file, FILE_BYTES));
        assertEquals(0, tier.statistics().heldBytes());
      }
    }
  }

  @Test
  void prepare_whereNoMemoryCanBeHad_leavesWeightsOnDisk() throws IOException {
    HostMemory lost =
        file -> {
          throw new StatusException(Status.DEVICE_FAILURE, "the GPU that pins memory is lost");
        };
    try (HostTier tier = HostTier.filling(new ByteSize(FILE_BYTES), lost)) {
      tier.prepare(write(1), FILE_BYTES);
      assertEquals(0, tier.statistics().heldBytes());
      try (WeightSource source = open(tier, 1)) {
        assertEquals(1, byteAt(source, FILE_BYTES - 1));
      }
    }
  }

  @Test
  void prepare_whenNobodyWantsAFile_hasMemoryMadeReadyForTheLargest() throws Exception {
    CountDownLatch asked = new CountDownLatch(3);
    List<Long> sizes = new CopyOnWriteArrayList<>();
    List<Long> bounds = new CopyOnWriteArrayList<>();
    HostMemory preparing =
        new HostMemory() {
          @Override
          public HostMemory.Loaded load(Path file) throws IOException {
            return counting.load(file);
          }

          @Override
          public void keepWithin(long bytes) {
            bounds.add(bytes);
          }

          @Override
          public boolean prepare(long bytes) {
            sizes.add(bytes);
            asked.countDown();
            return asked.getCount() > 0;
          }
        };
    try (HostTier tier = HostTier.filling(new ByteSize(3 * FILE_BYTES), preparing)) {
      tier.prepare(write(1), FILE_BYTES);
      asked.await();
      tier.inPlace(readingInPlace(2)).close();
    }
    assertEquals(List.of((long) FILE_BYTES, (long) FILE_BYTES, (long) FILE_BYTES), sizes);
    assertEquals(List.of(3L * FILE_BYTES, 2L * FILE_BYTES, 3L * FILE_BYTES, 0L), bounds);
    assertEquals(0, loaded.get());
  }

  @Test
  void inPlace_ofTwoDevices_isLoadedOnceAndGoesWithTheLast() throws IOException {
    try (HostTier tier = HostTier.filling(new ByteSize(FILE_BYTES), counting)) {
      ImportedModel model = readingInPlace(1);
      HostMemory.Loaded one = tier.inPlace(model);
      HostMemory.Loaded two = tier.inPlace(model);
      assertEquals(one.memory().address(), two.memory().address());
      assertEquals(1, loaded.get());
      assertEquals(new Statistics(0, 0, 0, 0, FILE_BYTES, 0), tier.statistics());
      one.close();
      one.close();
      assertEquals(1, loaded.get());
      assertEquals(1, two.memory().get(ValueLayout.JAVA_BYTE, 0));
      two.close();
      assertEquals(0, loaded.get());
      assertEquals(0, tier.statistics().inPlaceBytes());
    }
  }

  @Test
  void inPlace_makesRoomAmongWhatIsStreamed_andLeavesLessForIt() throws IOException {
    try (HostTier tier = HostTier.filling(new ByteSize(2 * FILE_BYTES), counting)) {
      tier.prepare(write(1), FILE_BYTES);
      tier.prepare(write(2), FILE_BYTES);
      assertEquals(2 * FILE_BYTES, tier.statistics().heldBytes());
      HostMemory.Loaded table = tier.inPlace(readingInPlace(3));
      assertEquals(new Statistics(0, 0, 0, FILE_BYTES, FILE_BYTES, 0), tier.statistics());
      tier.prepare(write(4), FILE_BYTES);
      assertEquals(2, loaded.get(), "there is no room beside the table");
      table.close();
      tier.prepare(write(4), FILE_BYTES);
      assertEquals(new Statistics(0, 0, 0, 2 * FILE_BYTES, 0, 0), tier.statistics());
    }
    assertEquals(0, loaded.get());
  }

  @Test
  void inPlace_beyondTheTier_isRefusedWithTheNumbers() throws IOException {
    try (HostTier tier = HostTier.filling(new ByteSize(FILE_BYTES), counting)) {
      HostMemory.Loaded first = tier.inPlace(readingInPlace(1));
      ImportedModel second = readingInPlace(2);
      StatusException error = assertThrows(StatusException.class, () -> tier.inPlace(second));
      assertEquals(Status.INSUFFICIENT_MEMORY, error.status());
      String size = new ByteSize(FILE_BYTES).toString();
      assertEquals(
          size
              + " of weights are to be read in place, and host-tier.memory of "
              + size
              + " has "
              + size
              + " of other models' already; raise it, or set switching.read-in-place to processor",
          error.getMessage());
      first.close();
      tier.inPlace(second).close();
    }
    assertEquals(0, loaded.get());
  }

  @Test
  void inPlace_cannotBeLoaded_takesNoRoom() throws IOException {
    HostMemory failing =
        file -> {
          throw new IOException("the disk is broken");
        };
    try (HostTier tier = HostTier.filling(new ByteSize(FILE_BYTES), failing)) {
      ImportedModel model = readingInPlace(1);
      for (int i = 0; i < 2; i++) {
        assertThrows(UncheckedIOException.class, () -> tier.inPlace(model));
        assertEquals(0, tier.statistics().inPlaceBytes());
      }
    }
  }

  @Test
  void inPlace_whereFilesAreMapped_isInNoBound() throws IOException {
    try (HostTier tier = tier(0);
        HostMemory.Loaded table = tier.inPlace(readingInPlace(1))) {
      assertEquals(1, table.memory().get(ValueLayout.JAVA_BYTE, 0));
      assertEquals(new Statistics(0, 0, 0, 0, 0, 0), tier.statistics());
    }
    assertEquals(0, loaded.get());
  }

  /** A model whose only file is a table. */
  private ImportedModel readingInPlace(int number) throws IOException {
    Path model = Files.createDirectories(folder.resolve("model" + number));
    byte[] content = new byte[FILE_BYTES];
    Arrays.fill(content, (byte) number);
    Files.write(model.resolve(ImportedModel.IN_PLACE), content);
    InPlaceWeight table =
        new InPlaceWeight("t", TensorType.INT8, Shape.of(FILE_BYTES), 0, FILE_BYTES);
    Plan plan =
        new Plan(
            "structure",
            List.of(),
            List.of(),
            List.of(),
            List.of(),
            List.of(table),
            List.of(),
            0,
            0,
            0,
            Padding.notApplicable("there is nothing to pad"),
            Batching.notApplicable("there is nothing to run together"),
            false,
            0,
            false,
            List.of());
    return new ImportedModel(
        new ModelVersion("m" + number, 1),
        plan,
        model.resolve("gated.onnx"),
        model.resolve("weights.bin"));
  }

  private HostTier tier(long bytes) {
    return HostTier.mapping(new ByteSize(bytes), counting);
  }

  private WeightSource open(HostTier tier, int number) throws IOException {
    return tier.open(write(number), FILE_BYTES);
  }

  private Path write(int number) throws IOException {
    Path file = folder.resolve(Integer.toString(number));
    if (!Files.exists(file)) {
      byte[] content = new byte[FILE_BYTES];
      Arrays.fill(content, (byte) number);
      Files.write(file, content);
    }
    return file;
  }

  private static void assertContent(WeightSource source, int number) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment target = arena.allocate(128);
      source.read(FILE_BYTES - 128, target);
      assertEquals(number, target.get(ValueLayout.JAVA_BYTE, 127));
    }
  }
}
