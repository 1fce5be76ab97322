package io.pipelane.lanes.cuda.execution;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.BytesSource;
import io.pipelane.lanes.DeviceCopy;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.cuda.CaptureSettings;
import io.pipelane.lanes.cuda.CudaHostMemory;
import io.pipelane.lanes.cuda.driver.GpuTests;
import io.pipelane.lanes.cuda.execution.GpuSessions.Loaded;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.host.HostMemory;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Sessions of a GPU whose tables lie in pinned host memory answer, bit by bit, as those do whose
 * tables lie on the device. The second request of a shape has it captured, for two variants at
 * most.
 */
@Tag("gpu")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@SuppressWarnings("NullAway.Init") // requireGpu() fills the field.
class CudaInPlaceTest {
  private static final int LAYERS = 3;
  private static final int CAPTURES = 2;

  @TempDir Path folder;
  private GpuSessions gpu;

  /** Opened once: loading CUDA's libraries takes seconds. */
  @BeforeEach
  void requireGpu() {
    if (gpu == null) {
      gpu = new GpuSessions(GpuTests.driverOrSkip(), new CaptureSettings(2, CAPTURES));
      gpu.region.limit(64 * GpuSessions.MIB);
    }
  }

  @AfterAll
  void close() {
    if (gpu != null) {
      gpu.close();
    }
  }

  private ImportedModel variant(int seed) throws IOException {
    ImportedModel model =
        TestImports.of(TestModels.embedding(LAYERS, seed), "place" + seed, folder);
    assertTrue(model.plan().inPlaceBytes() > 0, "the model reads nothing in place");
    return model;
  }

  private HostMemory.Loaded table(ImportedModel model) throws IOException {
    return new CudaHostMemory(gpu.device.context()).load(model.inPlaceWeights());
  }

  /** Uncaptured, then captured, of the same model with its table on the device. */
  private float[][] streamed(int seed, float[] x) throws IOException {
    ImportedModel model =
        TestImports.allStreamed(TestModels.embedding(LAYERS, seed), "streamed" + seed, folder);
    assertEquals(0, model.plan().inPlaceBytes());
    try (Loaded loaded = gpu.load(model)) {
      float[] uncaptured = run(loaded, x);
      run(loaded, x);
      assertEquals(1, loaded.session().captures().size(), loaded.session().notes()::toString);
      return new float[][] {uncaptured, run(loaded, x)};
    }
  }

  private static float[] random(int rows, long seed) {
    Random random = new Random(seed);
    float[] x = new float[rows * TestModels.WIDTH];
    for (int i = 0; i < x.length; i++) {
      x[i] = (float) random.nextGaussian();
    }
    return x;
  }

  private float[] run(Loaded loaded, float[] x) {
    return run(loaded, x, WeightArrivals.PRESENT);
  }

  private float[] run(Loaded loaded, float[] x, WeightArrivals weights) {
    FloatInvocation invocation =
        new FloatInvocation(x, Shape.of(x.length / TestModels.WIDTH, TestModels.WIDTH));
    loaded.session().run(invocation, gpu.region, bytes -> false, weights);
    assertEquals(0, gpu.region.usedBytes());
    return invocation.output();
  }

  /** Puts another variant's weights in place of those that are there. */
  private void become(Loaded loaded, ImportedModel variant, HostMemory.Loaded table)
      throws IOException {
    loaded.range().hide();
    BytesSource weights = new BytesSource(Files.readAllBytes(variant.weights()));
    gpu.device.copies().copy(weights, 0, loaded.range(), 0, weights.byteSize()).await();
    loaded.range().show(table);
  }

  @Test
  void run_uncapturedAndCapturedAndCold_answersAsWithTheTableOnTheDevice() throws IOException {
    float[] x = random(5, 1);
    float[] other = random(5, 2);
    float[][] expected = streamed(1, x);
    float[][] expectedOther = streamed(1, other);
    ImportedModel model = variant(1);
    try (HostMemory.Loaded table = table(model);
        Loaded loaded = gpu.load(model)) {
      loaded.range().show(table);
      assertEquals(table.memory().address(), loaded.range().windowAddress());
      assertArrayEquals(expected[0], run(loaded, x), "uncaptured");
      run(loaded, x);
      assertEquals(1, loaded.session().captures().size(), loaded.session().notes()::toString);
      assertArrayEquals(expected[1], run(loaded, x), "captured");
      assertArrayEquals(expectedOther[1], run(loaded, other), "captured, other rows of the table");
      assertArrayEquals(expected[1], run(loaded, x, loaded.late(-1)), "captured, cold");
      loaded.session().shrink();
      assertArrayEquals(expected[0], run(loaded, x), "without captures again");
      loaded.range().hide();
    }
  }

  @Test
  void run_variantsInTurn_eachReadsItsOwnTable() throws IOException {
    float[] x = random(4, 3);
    int variants = CAPTURES + 1;
    float[][][] expected = new float[variants][][];
    ImportedModel[] models = new ImportedModel[variants];
    HostMemory.Loaded[] tables = new HostMemory.Loaded[variants];
    for (int i = 0; i < variants; i++) {
      expected[i] = streamed(i + 1, x);
      models[i] = variant(i + 1);
      tables[i] = table(models[i]);
    }
    assertFalse(Arrays.equals(expected[0][0], expected[1][0]), "variants that answer the same");
    try (Loaded loaded = gpu.load(models[0])) {
      loaded.range().show(tables[0]);
      for (int round = 0; round < 20; round++) {
        for (int i = 0; i < variants; i++) {
          become(loaded, models[i], tables[i]);
          String what = "round %d, variant %d".formatted(round, i);
          // Two are captured at their second request; the third would have to take another's place.
          boolean captured = i < CAPTURES && round >= 2;
          assertArrayEquals(expected[i][captured ? 1 : 0], run(loaded, x), what);
        }
      }
      assertEquals(CAPTURES, loaded.session().captures().size());
      assertEquals(1, loaded.session().notes().size(), "the same shapes are told once");
      loaded.range().hide();
    } finally {
      for (HostMemory.Loaded table : tables) {
        table.close();
      }
    }
  }

  /** The system may give a new table the addresses of one that is gone, and captures know those. */
  @Test
  void run_tablesThatComeAndGo_isRightEachTime() throws IOException {
    float[] x = random(2, 4);
    ImportedModel[] models = {variant(1), variant(2)};
    float[][][] expected = {streamed(1, x), streamed(2, x)};
    try (Loaded loaded = gpu.load(models[0])) {
      HostMemory.Loaded first = table(models[0]);
      loaded.range().show(first);
      for (int round = 0; round < 12; round++) {
        int i = round % 2;
        HostMemory.Loaded table = table(models[i]);
        become(loaded, models[i], table);
        for (int request = 0; request < 3; request++) {
          float[] y = run(loaded, x);
          assertTrue(
              Arrays.equals(expected[i][0], y) || Arrays.equals(expected[i][1], y),
              "round %d, request %d: %s".formatted(round, request, Arrays.toString(y)));
        }
        first.close();
        first = table;
      }
      loaded.range().hide();
      assertTrue(gpu.device.context().isPinned(first.memory()));
      first.close();
      assertFalse(gpu.device.context().isPinned(first.memory()));
    }
  }

  /** Captures of both places stay, so coming and going costs no more of them. */
  @Test
  void run_tableComesToTheDeviceAndGoes_isRightEachTimeAndReadsItThere() throws IOException {
    float[] x = random(4, 6);
    float[][] expected = streamed(1, x);
    ImportedModel model = variant(1);
    try (HostMemory.Loaded table = table(model);
        Loaded loaded = gpu.load(model);
        DeviceCopy copy = new DeviceCopy(gpu.device, table.memory())) {
      MemorySegment memory = DeviceCopy.writable(table.memory());
      byte[] content = memory.toArray(ValueLayout.JAVA_BYTE);
      loaded.range().show(table);
      List<Page> others = new ArrayList<>();
      for (int round = 0; round < 4; round++) {
        String what = "round " + round;
        assertArrayEquals(expected[round == 0 ? 0 : 1], run(loaded, x), what + ", first on host");
        run(loaded, x);
        assertArrayEquals(expected[1], run(loaded, x), what + ", on the host");
        copy.fill();
        loaded.range().showPages(copy.range());
        assertEquals(copy.range().address(), loaded.range().windowAddress());
        memory.fill((byte) 0x7f);
        assertArrayEquals(expected[round == 0 ? 0 : 1], run(loaded, x), what + ", first copied");
        run(loaded, x);
        assertArrayEquals(expected[1], run(loaded, x), what + ", copied");
        assertArrayEquals(expected[1], run(loaded, x, loaded.late(-1)), what + ", copied, cold");
        loaded.range().hidePages();
        assertEquals(table.memory().address(), loaded.range().windowAddress());
        copy.empty();
        MemorySegment.copy(content, 0, memory, ValueLayout.JAVA_BYTE, 0, content.length);
        assertEquals(2, loaded.session().captures().size(), loaded.session().notes()::toString);
        others.add(gpu.device.pages().take().orElseThrow()); // The next copy lies elsewhere.
      }
      loaded.range().hide();
      others.forEach(gpu.device.pages()::giveBack);
    }
  }

  @Test
  void showPages_ofWhatIsNoCopy_isRefused() throws IOException {
    ImportedModel model = variant(1);
    try (HostMemory.Loaded table = table(model);
        Loaded loaded = gpu.load(model);
        DeviceCopy copy = new DeviceCopy(gpu.device, table.memory())) {
      loaded.range().show(table);
      assertThrows(
          IllegalStateException.class,
          () -> loaded.range().showPages(copy.range()),
          "it has no pages");
      assertEquals(table.memory().address(), loaded.range().windowAddress());
      copy.fill();
      loaded.range().hide();
      assertThrows(IllegalStateException.class, () -> loaded.range().showPages(copy.range()));
      assertThrows(
          UnsupportedOperationException.class, () -> copy.range().showPages(loaded.range()));
      copy.empty();
    }
  }

  @Test
  void run_nothingShownOrNothingPinned_failsAndALaterRunIsRight() throws IOException {
    float[] x = random(2, 5);
    float[][] expected = streamed(1, x);
    ImportedModel model = variant(1);
    try (HostMemory.Loaded table = table(model);
        HostMemory.Loaded mapped = HostMemory.PAGE_CACHE.load(model.inPlaceWeights());
        Loaded loaded = gpu.load(model)) {
      assertThrows(IllegalStateException.class, () -> run(loaded, x));
      assertThrows(IllegalArgumentException.class, () -> loaded.range().show(mapped));
      assertThrows(IllegalStateException.class, () -> run(loaded, x));
      loaded.range().show(table);
      assertArrayEquals(expected[0], run(loaded, x));
      loaded.range().hide();
      assertThrows(IllegalStateException.class, () -> run(loaded, x));
    }
  }
}
