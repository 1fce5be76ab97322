package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.section.PlacementConfig;
import io.pipelane.config.section.PlacementConfig.Routing;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.execution.CpuRuntime;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.placement.LosableSessions;
import io.pipelane.switcher.placement.SwitcherGroup;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Two devices of the processor with models that span them, and what can fail of these. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class SpanningFixture {
  static final int WIDTH = 64;
  static final int LAYERS = 8;
  private static final long PAGE = 16 << 10;
  static final long PART = (long) LAYERS * WIDTH * WIDTH * Float.BYTES;
  static final List<String> NAMES = List.of("cpu:0", "cpu:1");

  @TempDir Path folder;
  private final CpuRuntime runtime = new CpuRuntime(TestDevices.library());
  private final List<CpuDevice> devices = new ArrayList<>();
  final List<FailingDevice> failing = new ArrayList<>();
  final Map<String, LosableSessions> sessions = new LinkedHashMap<>();
  private final Map<String, Switcher> switchers = new LinkedHashMap<>();
  private final List<SwitcherGroup> groups = new ArrayList<>();
  volatile UnaryOperator<WeightSource> source = UnaryOperator.identity();

  /** Devices with room for so many parts each, and one lane. */
  SwitcherGroup open(int parts) {
    long bytes = parts * PART;
    for (String name : NAMES) {
      CpuDevice device =
          CpuDevice.open(name, new ByteSize(bytes), new ByteSize(PAGE), Bandwidth.UNLIMITED);
      DeviceMemory memory = new DeviceMemory(device.persistent());
      LosableSessions losable = new LosableSessions(runtime.sessions(device, memory, 1));
      FailingDevice mayFail = new FailingDevice(device);
      SwitcherSettings settings =
          SwitcherSettings.of(bytes, 64 << 20, 1, 1000, 64 << 20, new EqualBytesGrouping(8, 1));
      devices.add(device);
      failing.add(mayFail);
      sessions.put(name, losable);
      switchers.put(name, new Switcher(mayFail, memory, losable, settings, this::weights));
    }
    SwitcherGroup group =
        new SwitcherGroup(
            switchers,
            new PlacementConfig(
                Routing.PREDICTED, true, Duration.ofSeconds(30), true, 0, Duration.ZERO),
            2,
            System::nanoTime);
    groups.add(group);
    return group;
  }

  /** Weights that {@link #source} may hold up, or refuse. */
  private WeightSource weights(ImportedModel model) {
    return source.apply(new Named(model.version().model(), ReadWeights.of(model)));
  }

  /** Weights that say whose they are. */
  private record Named(String model, WeightSource source) implements WeightSource {
    @Override
    public long byteSize() {
      return source.byteSize();
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      source.read(offset, destination);
    }

    @Override
    public void close() {
      source.close();
    }
  }

  static boolean areOf(WeightSource weights, String model) {
    return ((Named) weights).model.equals(model);
  }

  @AfterEach
  void everythingIsGivenBack() {
    groups.forEach(SwitcherGroup::close);
    for (Switcher switcher : switchers.values()) {
      switcher.verify();
      until(() -> switcher.memory().weights().isQuiet());
      switcher.close();
    }
    for (CpuDevice device : devices) {
      assertEquals(0, device.persistent().usedBytes());
      assertEquals(device.pages().total(), device.pages().free());
      device.close();
    }
    runtime.close();
  }

  static void until(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      Thread.onSpinWait();
    }
  }

  Switcher switcher(int device) {
    return Objects.requireNonNull(switchers.get(NAMES.get(device)));
  }

  ImportedModel register(SwitcherGroup group, String name, long seed) throws IOException {
    ImportedModel model = TestImports.of(TestModels.chain(LAYERS, WIDTH, seed), name, folder);
    group.register(model, ModelOptions.DEFAULT);
    return model;
  }

  /** A model of two parts, in the order in which they run. */
  record Both(String name, ImportedModel first, ImportedModel second) {
    List<ModelVersion> models() {
      return List.of(first.version(), second.version());
    }
  }

  /** Whose first part is on a device, and the second on the other one. */
  Both span(SwitcherGroup group, String name, int device, long seed) throws IOException {
    group.spans().place(name, Map.of(name + "1", device, name + "2", 1 - device));
    return new Both(name, register(group, name + "1", seed), register(group, name + "2", seed + 1));
  }

  /** Whose first part is on the first device. */
  void evict(Both both) {
    switcher(0).evict(both.first.version());
    switcher(1).evict(both.second.version());
  }

  static float[] input(long seed) {
    Random random = new Random(seed);
    float[] x = new float[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
      x[i] = (float) random.nextGaussian();
    }
    return x;
  }

  static float[] infer(InferenceService.Hold service, ImportedModel model, float[] x) {
    Call call = new Call();
    InferenceService.Ticket _ = service.submit(Call.request(model.version(), x), call);
    float[] answer = call.await();
    assertEquals(1, call.answers());
    return answer;
  }

  static float[] ask(SwitcherGroup group, Both both, float[] x) {
    try (Hold whole = group.spans().switchIn(both.name, both.models())) {
      return infer(whole, both.second, infer(whole, both.first, x));
    }
  }

  /** What the parts answer one after another, as models of their own. */
  static float[] chained(SwitcherGroup group, Both both, float[] x) {
    return infer(group::submit, both.second, infer(group::submit, both.first, x));
  }

  long lent(int device) {
    return switcher(device).memory().weights().lentBytes();
  }

  long resident(int device, ImportedModel model) {
    return switcher(device).memory().weights().entries().stream()
        .filter(entry -> entry.model().equals(model.version()))
        .mapToLong(Ledger.Entry::residentBytes)
        .sum();
  }

  void verify() {
    switchers.values().forEach(Switcher::verify);
  }

  /** Weights that are read once a latch is open, and open another when they are given back. */
  record HeldUp(WeightSource source, CountDownLatch before, CountDownLatch after)
      implements WeightSource {
    @Override
    public long byteSize() {
      return source.byteSize();
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      try {
        before.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      source.read(offset, destination);
    }

    @Override
    public void close() {
      source.close();
      after.countDown();
    }
  }
}
