package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.CudaHostMemory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Variants with embedding tables take turns on a GPU; their tables stay in the host tier. */
class GpuReadingInPlaceTest extends TablesOnAGpu {
  private static final int TABLE = 64 << 10;
  private static final int VARIANTS = 3;

  private static Switcher open(CudaDevice device, HostTier tier, boolean inWorkers) {
    SwitcherSettings settings =
        SwitcherSettings.of(
            WEIGHTS.bytes(), 4L << 30, 1, 100, 1 << 20, new EqualBytesGrouping(4, 1));
    return open(device, tier, inWorkers, settings);
  }

  @ParameterizedTest(name = "in worker processes: {0}")
  @ValueSource(booleans = {false, true})
  void variantsInTurn_answerAsWithStreamedTables_andUnloadingGivesTheirTablesBack(boolean inWorkers)
      throws IOException {
    try (CudaDevice device = device(inWorkers);
        HostTier tier =
            HostTier.filling(ByteSize.ofMebibytes(16), new CudaHostMemory(device.context()))) {
      try (Switcher switcher = open(device, tier, inWorkers)) {
        takeTurns(switcher, tier);
      }
      assertEquals(device.pages().total(), device.pages().free());
    }
  }

  private void takeTurns(Switcher switcher, HostTier tier) throws IOException {
    List<ImportedModel> models = new ArrayList<>();
    List<float[]> expected = new ArrayList<>();
    for (int seed = 1; seed <= VARIANTS; seed++) {
      ImportedModel streamed =
          TestImports.allStreamed(TestModels.embedding(LAYERS, seed), "streamed" + seed, folder);
      switcher.register(streamed);
      for (int captured = 0; captured < 3; captured++) {
        infer(switcher, streamed);
      }
      expected.add(infer(switcher, streamed));
      switcher.deregister(streamed.version());
      models.add(TestImports.of(TestModels.embedding(LAYERS, seed), "table" + seed, folder));
      switcher.register(models.getLast());
    }
    assertEquals(VARIANTS * (long) TABLE, tier.statistics().inPlaceBytes());
    assertEquals(1, switcher.memory().sessions().entries().size(), "they share their session");
    for (ImportedModel model : models) {
      for (int captured = 0; captured < 3; captured++) {
        infer(switcher, model);
      }
    }
    // Room for two of three: some switches are remaps, others evict.
    Random random = new Random(5);
    for (int i = 0; i < 200; i++) {
      int which = random.nextInt(VARIANTS);
      assertArrayEquals(expected.get(which), infer(switcher, models.get(which)), "run " + i);
    }
    switcher.evict(models.getFirst().version());
    assertArrayEquals(expected.getFirst(), infer(switcher, models.getFirst()), "after eviction");
    switcher.verify();
    assertTrue(switcher.transfers().remaps() > 0);
    for (int left = VARIANTS - 1; left >= 0; left--) {
      switcher.deregister(models.get(left).version());
      assertEquals(left * (long) TABLE, tier.statistics().inPlaceBytes());
      if (left > 0) {
        assertArrayEquals(expected.getFirst(), infer(switcher, models.getFirst()), "of those left");
      }
    }
  }

  @Test
  void register_noRoomInTheHostTier_isRefusedAndLeavesTheOthers() throws IOException {
    try (CudaDevice device = device(false);
        HostTier tier =
            HostTier.filling(new ByteSize(TABLE), new CudaHostMemory(device.context()));
        Switcher switcher = open(device, tier, false)) {
      ImportedModel one = TestImports.of(TestModels.embedding(LAYERS, 1), "one", folder);
      ImportedModel two = TestImports.of(TestModels.embedding(LAYERS, 2), "two", folder);
      switcher.register(one);
      float[] expected = infer(switcher, one);
      StatusException error = assertThrows(StatusException.class, () -> switcher.register(two));
      assertEquals(Status.INSUFFICIENT_MEMORY, error.status());
      assertArrayEquals(expected, infer(switcher, one));
      switcher.deregister(one.version());
      switcher.register(two);
    }
  }
}
