package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.CudaHostMemory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.LinkCosts;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.residency.ResidencySettings;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The table of a hot model comes to a GPU and goes again; its answers stay what they are. */
class GpuHotTablesTest extends TablesOnAGpu {
  private static final int HOT_RUNS = 100;
  private static final int ROUNDS = 3;

  private static Switcher open(CudaDevice device, HostTier tier, boolean inWorkers) {
    PipelaneConfig config = PipelaneConfig.defaults();
    SegmentProfiles profiles = SegmentProfiles.inMemory();
    SwitcherSettings settings =
        SwitcherSettings.of(
                WEIGHTS.bytes(), 4L << 30, 1, 100, 1 << 20, new EqualBytesGrouping(4, 1))
            .withProfiles(profiles)
            .withResidency(
                new ResidencySettings(
                    config.residency(), profiles, LinkCosts.unknown(), 1, false, HOT_RUNS))
            .withScheduling(config.scheduling());
    return open(device, tier, inWorkers, settings);
  }

  private static long copied(Switcher switcher, ImportedModel model) {
    return switcher.memory().weights().entries().stream()
        .filter(entry -> entry.model().equals(model.version()))
        .mapToLong(Ledger.Entry::copiedBytes)
        .sum();
  }

  @ParameterizedTest(name = "in worker processes: {0}")
  @ValueSource(booleans = {false, true})
  void hotModel_tableComesWhereThereIsRoomAndGoesFirst(boolean inWorkers) throws IOException {
    try (CudaDevice device = device(inWorkers);
        HostTier tier =
            HostTier.filling(ByteSize.ofMebibytes(16), new CudaHostMemory(device.context()))) {
      try (Switcher switcher = open(device, tier, inWorkers)) {
        comeAndGo(switcher);
      }
      assertEquals(device.pages().total(), device.pages().free());
    }
  }

  private void comeAndGo(Switcher switcher) throws IOException {
    ImportedModel streamed =
        TestImports.allStreamed(TestModels.embedding(LAYERS, 1), "streamed", folder);
    switcher.register(streamed);
    List<float[]> expected = new ArrayList<>();
    for (int captured = 0; captured < 4; captured++) {
      expected.add(infer(switcher, streamed));
    }
    switcher.deregister(streamed.version());
    ImportedModel hot = TestImports.of(TestModels.embedding(LAYERS, 1), "hot", folder);
    ImportedModel other = TestImports.allStreamed(TestModels.embedding(LAYERS, 2), "other", folder);
    switcher.register(hot);
    for (int round = 1; round <= ROUNDS; round++) {
      while (switcher.transfers().tablesCopied() < round) {
        requireAmong(expected, infer(switcher, hot), "round " + round);
      }
      assertEquals(PAGE.bytes(), copied(switcher, hot));
      for (int request = 0; request < 10; request++) {
        requireAmong(expected, infer(switcher, hot), "copied, round " + round);
      }
      switcher.verify();
      long evicted = switcher.transfers().pagesTakenBack();
      switcher.register(other);
      float[] _ = infer(switcher, other);
      assertEquals(0, copied(switcher, hot), "it has made way");
      assertEquals(evicted, switcher.transfers().pagesTakenBack(), "no weights have");
      requireAmong(expected, infer(switcher, hot), "on the host, round " + round);
      switcher.verify();
      switcher.deregister(other.version()); // Or it might come back before the table does.
    }
  }

  /** Captured and uncaptured runs may differ in the last bits. */
  private static void requireAmong(List<float[]> expected, float[] actual, String what) {
    assertTrue(
        expected.stream().anyMatch(each -> Arrays.equals(each, actual)),
        what + ": " + Arrays.toString(actual));
  }
}
