package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.config.section.ResidencyConfig.Policy;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.residency.ResidencySettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Requests for versions that hold most of their pages together: each is answered from its own
 * weights, bit by bit as when it has the device for itself. A layer is a whole number of pages.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class SharedWeightsContract {
  private static final int WIDTH = TestDevices.ON_GPU ? 1024 : 64;
  private static final int LAYERS = 8;
  static final int LANES = 2;
  static final long LAYER_BYTES = (long) WIDTH * WIDTH * Float.BYTES;
  static final long PAGE = 16 << 10;

  /** For three versions that share what they can, and not for two that do not. */
  static final long WEIGHTS = 12 * LAYER_BYTES;

  private static final long WORKING = TestDevices.ON_GPU ? 4L << 30 : 64 << 20;

  @TempDir private Path folder;
  private final TestedSwitchers tested;
  private final List<ImportedModel> models = new ArrayList<>();
  private final List<float[]> expected = new ArrayList<>();

  SharedWeightsContract(Function<SwitcherSettings, TestedSwitchers> opening) {
    ResidencyConfig standard = PipelaneConfig.defaults().residency();
    ResidencyConfig shared =
        new ResidencyConfig(Policy.EXPECTED_STALL, standard.halfLife(), 0, false, true, true, true);
    SegmentProfiles profiles = SegmentProfiles.inMemory();
    tested =
        opening.apply(
            SwitcherSettings.of(WEIGHTS, WORKING, LANES, 100, 1 << 20, new EqualBytesGrouping(8, 1))
                .withProfiles(profiles)
                .withResidency(new ResidencySettings(shared, profiles, Optional.empty())));
  }

  @AfterEach
  void everythingIsGivenBack() {
    tested.verify();
    tested.close();
    for (Device device : tested.devices()) {
      assertEquals(0, device.persistent().usedBytes());
      assertEquals(device.pages().total(), device.pages().free());
      device.close();
    }
  }

  final Switcher switcher() {
    return tested.switchers().getFirst();
  }

  /** A chain of layers whose last one is its own; the others are alike in all of them. */
  private static ModelProto version(int layers, long seed) {
    GraphProto chain = TestModels.chain(layers, WIDTH, 1).getGraph();
    String last = "w" + (layers - 1);
    GraphProto.Builder own = chain.toBuilder();
    own.setInitializer(layers - 1, TestModels.weight(last, new Random(seed), WIDTH, WIDTH));
    return TestModels.model(own);
  }

  /** Registers a model, and takes down what it answers while it is there alone. */
  private void add(ModelProto proto) throws IOException {
    int number = models.size();
    ImportedModel model = TestImports.of(proto, "m" + number, folder);
    models.forEach(other -> tested.deregister(other.version()));
    tested.register(model);
    models.add(model);
    expected.add(submit(number).await());
    models.subList(0, number).forEach(tested::register);
    tested.deregister(model.version());
    tested.register(model);
  }

  /** Three versions of one structure. */
  private void addThreeVersions() throws IOException {
    for (int i = 0; i < 3; i++) {
      add(version(LAYERS, 100 + i));
    }
  }

  private static float[] input(long seed) {
    Random random = new Random(seed);
    float[] x = new float[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
      x[i] = (float) random.nextGaussian();
    }
    return x;
  }

  private Call submit(int number) {
    Call call = new Call();
    tested.service().submit(Call.request(models.get(number).version(), input(number)), call);
    return call;
  }

  final void requireAnswersInTurns() {
    for (int round = 0; round < 3; round++) {
      for (int i = 0; i < models.size(); i++) {
        assertArrayEquals(expected.get(i), submit(i).await(), models.get(i).version().toString());
        tested.verify();
      }
    }
  }

  private long bytesLoaded() {
    return tested.total(each -> each.transfers().bytesLoaded());
  }

  /** Has the three versions asked in turns until all of them are there. */
  final long bringThreeVersionsIn() throws IOException {
    addThreeVersions();
    long before = bytesLoaded();
    requireAnswersInTurns();
    return bytesLoaded() - before;
  }

  @Test
  void versionsThatDifferInTheLastLayer_inTurns_moveItAlone() throws Exception {
    assertEquals((LAYERS + 2) * LAYER_BYTES, bringThreeVersionsIn());
    assertEquals((LAYERS + 2) * LAYER_BYTES, tested.lentBytes());
    assertTrue(tested.total(each -> each.transfers().pagesJoined()) > 0);
    long before = bytesLoaded();
    requireAnswersInTurns();
    assertEquals(before, bytesLoaded());
  }

  @Test
  void modelOfAnotherStructure_withLayersAlike_readsTheirPagesAtItsOwnAddresses() throws Exception {
    add(version(LAYERS, 100));
    add(version(LAYERS + 1, 101));
    long before = bytesLoaded();
    requireAnswersInTurns();
    assertEquals((LAYERS - 1 + 1 + 2) * LAYER_BYTES, bytesLoaded() - before);
  }

  @Test
  void versionsAndStrangers_atOnceInTooLittleMemory_areAnsweredFromTheirOwnWeights()
      throws Exception {
    addThreeVersions();
    add(version(LAYERS + 1, 103));
    add(TestModels.chain(LAYERS, WIDTH, 2));
    add(TestModels.chain(LAYERS + 1, WIDTH, 3));
    long seed = System.nanoTime();
    Clients.ask(
        200,
        seed,
        random -> {
          int i = random.nextInt(models.size());
          assertArrayEquals(expected.get(i), submit(i).await(), "seed " + seed);
          tested.verify();
        });
    assertTrue(tested.total(each -> each.transfers().pagesTakenBack()) > 0);
    assertEquals(0, tested.failedLoads());
  }
}
