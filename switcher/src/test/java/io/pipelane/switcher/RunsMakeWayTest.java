package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.TestModels;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs that make way to requests that go before them, where memory holds one model. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RunsMakeWayTest {
  private static final int WIDTH = 64;
  private static final long LAYER_BYTES = (long) WIDTH * WIDTH * Float.BYTES;
  private static final int[] LAYERS = {12, 7, 3};
  private static final int MOST_ROUNDS = 20;
  private static final int CALLERS = 6;
  private static final int CALLS = 60;
  private static final long LONG_SEGMENT_NANOS = 500_000;

  @TempDir Path folder;

  private static void compute(String model) {
    long begin = System.nanoTime();
    while (model.equals("of-12") && System.nanoTime() - begin < LONG_SEGMENT_NANOS) {
      Thread.onSpinWait();
    }
  }

  /** None is lost, none answered twice or wrongly, and all that was held is given back. */
  @Test
  void randomRequestsOfBothClasses_roomForOneModel_allAreAnsweredAsAlone() throws Exception {
    long seed = ThreadLocalRandom.current().nextLong();
    try (CpuDevice device =
        CpuDevice.open(
            new ByteSize(LAYERS[0] * LAYER_BYTES), new ByteSize(16 << 10), Bandwidth.UNLIMITED)) {
      try (Switcher switcher =
          WatchedSegments.switcher(
              device,
              LAYERS[0] * LAYER_BYTES,
              Map.of("scheduling.policy", "srtf", "scheduling.restarts", "2"),
              (model, _) -> compute(model))) {
        List<ImportedModel> models = new ArrayList<>();
        List<float[]> alone = new ArrayList<>();
        for (int layers : LAYERS) {
          ImportedModel model =
              TestImports.of(TestModels.chain(layers, WIDTH, layers), "of-" + layers, folder);
          switcher.register(model);
          models.add(model);
          alone.add(submit(switcher, model, Priority.ONLINE).await());
        }
        long round = 0;
        do { // Where runs are short, none may have met another.
          callAtOnce(switcher, models, alone, seed + round * CALLERS);
          switcher.verify();
          round++;
        } while (switcher.preemptions().madeWay() == 0 && round < MOST_ROUNDS);
        assertTrue(switcher.preemptions().madeWay() > 0, "seed " + seed);
      }
      assertEquals(device.pages().total(), device.pages().free());
      assertEquals(0, device.persistent().usedBytes());
    }
  }

  private static void callAtOnce(
      Switcher switcher, List<ImportedModel> models, List<float[]> alone, long seed) {
    try (ExecutorService callers = Executors.newFixedThreadPool(CALLERS)) {
      List<Future<?>> all = new ArrayList<>();
      for (int caller = 0; caller < CALLERS; caller++) {
        Random random = new Random(seed + caller);
        all.add(callers.submit(() -> call(switcher, models, alone, random)));
      }
      for (Future<?> caller : all) {
        caller.get();
      }
    } catch (Exception | AssertionError e) {
      throw new AssertionError("seed " + seed, e);
    }
  }

  private static void call(
      Switcher switcher, List<ImportedModel> models, List<float[]> alone, Random random) {
    for (int i = 0; i < CALLS; i++) {
      int model = random.nextInt(models.size());
      Priority priority = random.nextInt(3) == 0 ? Priority.OFFLINE : Priority.ONLINE;
      Call call = submit(switcher, models.get(model), priority);
      assertArrayEquals(alone.get(model), call.await());
      assertEquals(1, call.answers());
    }
  }

  private static Call submit(Switcher switcher, ImportedModel model, Priority priority) {
    Call call = new Call();
    float[] x = new float[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
      x[i] = i - WIDTH / 2;
    }
    InferenceRequest request = Call.request(model.version(), x);
    switcher.submit(
        new InferenceRequest(
            request.model(), request.inputs(), request.outputs(), OptionalLong.empty(), priority),
        call);
    return call;
  }
}
