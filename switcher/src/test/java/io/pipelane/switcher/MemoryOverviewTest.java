package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The overview's sum is what the device, by the driver's account where it has one, has less. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MemoryOverviewTest {
  private static final int WIDE = TestDevices.ON_GPU ? 1024 : 128;
  private static final long WEIGHTS = TestDevices.ON_GPU ? 1L << 30 : 1 << 20;
  private static final long WORKING = TestDevices.ON_GPU ? 4L << 30 : 64 << 20;
  private static final double TOLERANCE = 0.02;

  @TempDir private Path folder;
  private final Device device = TestDevices.open(WEIGHTS, 16 << 10);
  private final DeviceMemory memory = new DeviceMemory(device.persistent());
  private final Switcher switcher =
      new Switcher(
          device,
          memory,
          TestDevices.sessions(device, memory),
          SwitcherSettings.of(WEIGHTS, WORKING, 2, 100, 1 << 20, new EqualBytesGrouping(4, 1)),
          ReadWeights::of);

  @AfterEach
  void close() {
    switcher.close();
    device.close();
  }

  private ImportedModel registered(String name, ModelProto proto) throws IOException {
    ImportedModel model = TestImports.of(proto, name, folder);
    switcher.register(model);
    return model;
  }

  private void infer(ImportedModel model, int width) {
    Call call = new Call();
    switcher.submit(Call.request(model.version(), new float[width]), call);
    call.await();
  }

  private void requireTrue(String when) {
    MemoryOverview overview = switcher.memory();
    double used =
        device instanceof CudaDevice cuda
            ? cuda.driverUsedBytes() - cuda.baselineBytes()
            : WEIGHTS + device.persistent().usedBytes() + overview.laneBytes();
    assertTrue(
        Math.abs(overview.totalBytes() - used) <= TOLERANCE * used,
        "%s: %.0f bytes are used, the overview is %s".formatted(when, used, overview));
    switcher.verify();
  }

  @Test
  void total_throughTheLivesOfSeveralModels_isWhatTheDeviceHasLess() throws IOException {
    requireTrue("empty");
    ImportedModel chain = registered("chain", TestModels.chain(6, WIDE, 1));
    ImportedModel variant = registered("variant", TestModels.chain(6, WIDE, 2));
    List<ImportedModel> small = new ArrayList<>();
    small.add(registered("branches", TestModels.branches(3)));
    small.add(registered("quantized", TestModels.quantized(3, 4)));
    small.add(registered("reshaped", TestModels.reshaped(3, 5)));
    requireTrue("registered");
    for (int round = 0; round < 4; round++) { // On a GPU, the second captures.
      small.forEach(model -> infer(model, TestModels.WIDTH));
      infer(chain, WIDE);
      infer(variant, WIDE);
      switcher.evict(variant.version()); // Waits for its run's end.
      requireTrue("round " + round);
    }
    switcher.evict(chain.version());
    requireTrue("evicted");
    for (ImportedModel model : small) {
      switcher.deregister(model.version());
      requireTrue("without " + model.version());
    }
    infer(chain, WIDE);
    switcher.deregister(variant.version());
    switcher.deregister(chain.version());
    requireTrue("empty again");
    assertEquals(0, switcher.memory().constantBytes());
  }

  @Test
  void statesOfSequences_areCounted_oncePerCopy() throws IOException {
    ImportedModel model = TestImports.of(TestModels.recurrent(WIDE), "recurrent", folder);
    switcher.register(model, SequencesTest.keeping(Map.of("t", "s")));
    assertEquals(0, switcher.memory().stateBytes());
    Call call = new Call();
    InferenceRequest step = Call.request(model.version(), new float[WIDE]);
    switcher.submit(
        new InferenceRequest(
            model.version(),
            step.inputs(),
            step.outputs(),
            OptionalLong.empty(),
            Priority.ONLINE,
            Optional.of(new SequenceStep("a", true, false))),
        call);
    call.await();
    MemoryOverview overview = switcher.memory();
    assertEquals(2L * WIDE * Float.BYTES, overview.stateBytes());
    assertEquals(
        WEIGHTS
            + overview.constantBytes()
            + overview.laneBytes()
            + overview.stateBytes()
            + overview.frameworkBytes(),
        overview.totalBytes());
    switcher.deregister(model.version());
    assertEquals(0, switcher.memory().stateBytes());
  }
}
