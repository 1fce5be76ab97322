package io.pipelane.modelstore.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
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
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** What the host tier keeps, reads ahead and gives up within its bound. */
class HostTierRoomTest extends HostTierFixture {
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
}
