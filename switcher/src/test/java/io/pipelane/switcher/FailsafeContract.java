package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.lanes.Device;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs of real models that need more than is set aside for lanes, wherever sessions are. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class FailsafeContract {
  private static final int MODELS = 4;
  private static final int LAYERS = 16;
  private static final int WIDTH = 256;
  private static final int ROWS = 3072;
  static final int LANES = 2;
  static final long PAGE = 64 << 10;

  /** All of them, and no more. */
  static final long WEIGHTS = (long) MODELS * LAYERS * WIDTH * WIDTH * Float.BYTES;

  /** Less than four tensors of a run, which has three at least. */
  private static final long WORKING = 8 << 20;

  @TempDir Path folder;

  abstract Device open();

  abstract SessionFactory sessions(Device device, DeviceMemory memory);

  private Switcher switcher(
      Device device, BiFunction<Device, DeviceMemory, SessionFactory> factory) {
    return switcher(device, factory, WORKING);
  }

  private Switcher switcher(
      Device device, BiFunction<Device, DeviceMemory, SessionFactory> factory, long working) {
    DeviceMemory memory = new DeviceMemory(device.persistent());
    SwitcherSettings settings =
        SwitcherSettings.of(WEIGHTS, working, LANES, 100, 1 << 30, new EqualBytesGrouping(8, 1));
    return new Switcher(device, memory, factory.apply(device, memory), settings, ReadWeights::of);
  }

  private List<ImportedModel> models() throws IOException {
    List<ImportedModel> models = new ArrayList<>();
    for (int i = 0; i < MODELS; i++) {
      models.add(TestImports.of(TestModels.chain(LAYERS, WIDTH, i), "m" + i, folder));
    }
    return models;
  }

  private static Call submit(Switcher switcher, ImportedModel model) {
    Random random = new Random(7);
    float[] x = new float[ROWS * WIDTH];
    for (int i = 0; i < x.length; i++) {
      x[i] = (float) random.nextGaussian();
    }
    MemorySegment data = Arena.ofAuto().allocateFrom(ValueLayout.JAVA_FLOAT, x);
    InputTensor input = new InputTensor("x", TensorType.FP32, Shape.of(ROWS, WIDTH), data);
    Call call = new Call();
    switcher.submit(new InferenceRequest(model.version(), List.of(input), List.of("y")), call);
    return call;
  }

  @Test
  void runsLargerThanWhatIsSetAside_haveWeightsGiveWayAndAnswerAsWithRoom() throws IOException {
    List<ImportedModel> models = models();
    List<float[]> expected = new ArrayList<>();
    try (Device device = open();
        Switcher roomy = switcher(device, this::sessions, 8 * WORKING)) {
      assumeTrue(device.vacatesPages(), "lanes of this device borrow nothing");
      for (ImportedModel model : models) {
        roomy.register(model);
        expected.add(submit(roomy, model).await());
      }
    }
    try (Device device = open()) {
      try (Switcher tight = switcher(device, this::sessions)) {
        models.forEach(tight::register);
        models.forEach(model -> tight.warmUp(model.version()));
        List<Call> calls = models.stream().map(model -> submit(tight, model)).toList();
        for (int i = 0; i < MODELS; i++) {
          assertArrayEquals(expected.get(i), calls.get(i).await());
        }
        assertTrue(tight.transfers().failsafePagings() > 0, "nothing gave way");
        tight.verify();
      }
      assertEquals(device.pages().total(), device.pages().free());
    }
  }
}
