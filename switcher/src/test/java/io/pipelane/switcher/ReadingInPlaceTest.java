package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.execution.CpuSessionFactory;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.runtime.OrtLibrary;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.memory.account.Ledger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Models with embedding tables on the processor: tables are read in place, the rest is streamed.
 */
@Timeout(60)
class ReadingInPlaceTest {
  private static final Path CACHE = Path.of(System.getProperty("java.io.tmpdir"), "pipelane-test");
  private static final int LAYERS = 4;
  private static final int PAGE = 4 << 10;
  private static final long STREAMED = (long) LAYERS * PAGE;
  private static final int TABLE = 64 << 10;

  @TempDir Path folder;
  private final CpuDevice device =
      CpuDevice.open(new ByteSize(2 * STREAMED), new ByteSize(PAGE), Bandwidth.UNLIMITED);
  private final HostTier hostTier = HostTier.mapping(ByteSize.ofMebibytes(16));

  @AfterEach
  void nothingIsLeft() throws IOException {
    assertEquals(0, device.persistent().usedBytes());
    assertEquals(device.pages().total(), device.pages().free());
    device.close();
    hostTier.close();
    assertEquals(0, mappedTables());
  }

  private Switcher open(long weightBytes, int lanes) {
    SwitcherSettings settings =
        SwitcherSettings.of(
            weightBytes, 64 << 20, lanes, 100, 1 << 20, new EqualBytesGrouping(4, 1));
    DeviceMemory memory = new DeviceMemory(device.persistent());
    Path library = OrtLibrary.locate(Optional.empty(), CACHE);
    return new Switcher(
        device, memory, new CpuSessionFactory(device, library, memory, 1), settings, hostTier);
  }

  private ImportedModel model(String name, int version, long seed) throws IOException {
    return TestImports.of(
        TestModels.embedding(LAYERS, seed), new ModelVersion(name, version), folder);
  }

  private static float[] input() {
    Random random = new Random(11);
    float[] x = new float[TestModels.WIDTH];
    for (int i = 0; i < x.length; i++) {
      x[i] = (float) random.nextGaussian();
    }
    return x;
  }

  private static Call submit(Switcher switcher, ImportedModel model) {
    Call call = new Call();
    switcher.submit(Call.request(model.version(), input()), call);
    return call;
  }

  private static float[] infer(Switcher switcher, ImportedModel model) {
    return submit(switcher, model).await();
  }

  /** What a model answers that nobody shares anything with. */
  private float[] alone(ImportedModel model) {
    try (Switcher switcher = open(STREAMED, 1)) {
      switcher.register(model);
      return infer(switcher, model);
    }
  }

  private static long mappedTables() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/maps")).stream()
        .filter(line -> line.contains(ImportedModel.IN_PLACE))
        .count();
  }

  @Test
  void variantsWithTheirOwnTables_inOneSession_answerAsTheyDoAlone() throws IOException {
    List<ImportedModel> models = new ArrayList<>();
    List<float[]> expected = new ArrayList<>();
    for (int seed = 1; seed <= 3; seed++) {
      models.add(model("m" + seed, 1, seed));
      expected.add(alone(models.getLast()));
    }
    assertFalse(Arrays.equals(expected.get(0), expected.get(1)));
    // Room for two of three: some switches are remaps, others evict.
    try (Switcher switcher = open(2 * STREAMED, 1)) {
      models.forEach(switcher::register);
      assertEquals(1, switcher.memory().sessions().entries().size());
      Random random = new Random(5);
      for (int i = 0; i < 500; i++) {
        int which = random.nextInt(3);
        assertArrayEquals(expected.get(which), infer(switcher, models.get(which)), "run " + i);
      }
      switcher.verify();
      assertTrue(switcher.transfers().remaps() > 0);
      assertTrue(switcher.transfers().pagesTakenBack() > 0);
    }
  }

  @Test
  void variants_inSeveralLanes_answerAsTheyDoAlone() throws IOException {
    ImportedModel one = model("one", 1, 1);
    ImportedModel two = model("two", 1, 2);
    float[] expectedOne = alone(one);
    float[] expectedTwo = alone(two);
    try (Switcher switcher = open(2 * STREAMED, 3)) {
      switcher.register(one);
      switcher.register(two);
      for (int round = 0; round < 50; round++) {
        List<Call> calls = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
          calls.add(submit(switcher, i % 2 == 0 ? one : two));
        }
        for (int i = 0; i < 8; i++) {
          assertArrayEquals(i % 2 == 0 ? expectedOne : expectedTwo, calls.get(i).await());
        }
      }
      switcher.verify();
    }
  }

  @Test
  void newVersion_whileTheOldOneIsAsked_bothAnswerTheirOwn() throws IOException {
    List<ImportedModel> versions = new ArrayList<>();
    List<float[]> expected = new ArrayList<>();
    for (int version = 1; version <= 4; version++) {
      versions.add(model("m", version, version));
      expected.add(alone(versions.getLast()));
    }
    try (Switcher switcher = open(2 * STREAMED, 2)) {
      switcher.register(versions.getFirst());
      for (int next = 1; next < versions.size(); next++) {
        List<Call> running = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
          running.add(submit(switcher, versions.get(next - 1)));
        }
        switcher.register(versions.get(next));
        Call first = submit(switcher, versions.get(next));
        for (Call call : running) {
          assertArrayEquals(expected.get(next - 1), call.await());
        }
        assertArrayEquals(expected.get(next), first.await());
        switcher.deregister(versions.get(next - 1).version());
        assertArrayEquals(expected.get(next), infer(switcher, versions.get(next)));
      }
    }
  }

  @Test
  void fileThatIsReplacedWhileItsModelServes_isNotNoticed() throws IOException {
    ImportedModel one = model("one", 1, 1);
    ImportedModel two = model("two", 1, 2);
    float[] expected = alone(one);
    try (Switcher switcher = open(2 * STREAMED, 1)) {
      switcher.register(one);
      switcher.register(two);
      // As the import cache does: another file takes the name.
      Path draft = Files.write(folder.resolve("draft"), new byte[TABLE]);
      Files.move(draft, one.inPlaceWeights(), java.nio.file.StandardCopyOption.ATOMIC_MOVE);
      for (int i = 0; i < 3; i++) {
        assertArrayEquals(expected, infer(switcher, one));
        infer(switcher, two);
      }
    }
  }

  @Test
  void ledger_hasStreamedWeightsOnTheDeviceAndTablesApart() throws IOException {
    ImportedModel model = model("m", 1, 1);
    try (Switcher switcher = open(STREAMED, 1)) {
      switcher.register(model);
      assertEquals(1, mappedTables(), "held, and not shown yet");
      infer(switcher, model);
      Ledger ledger = switcher.memory().weights();
      ledger.verify();
      assertEquals(STREAMED, ledger.lentBytes());
      assertEquals(TABLE, ledger.entries().getFirst().inPlaceBytes());
      assertEquals(STREAMED, switcher.transfers().bytesLoaded());
      switcher.evict(model.version());
      assertEquals(0, switcher.memory().weights().lentBytes());
      assertEquals(2, mappedTables(), "eviction is of pages only");
    }
  }
}
