package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.PlacementConfig;
import io.pipelane.config.section.PlacementConfig.Routing;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.execution.CpuRuntime;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.placement.SwitcherGroup;
import io.pipelane.switcher.residency.ResidencySettings;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Two devices of the processor as one service, with room for two layers and for eight, half of it
 * for offline work.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UnequalDevicesTest {
  private static final int WIDTH = 64;
  private static final int LAYERS = 8;
  private static final long LAYER = (long) WIDTH * WIDTH * Float.BYTES;

  @TempDir Path folder;
  private final CpuRuntime runtime = new CpuRuntime(TestDevices.library());
  private final List<CpuDevice> devices = new ArrayList<>();
  private final Map<String, Switcher> switchers = new LinkedHashMap<>();
  private final SwitcherGroup group;

  UnequalDevicesTest() {
    open("cpu:0", 2 * LAYER);
    open("cpu:1", LAYERS * LAYER);
    group =
        new SwitcherGroup(
            switchers,
            new PlacementConfig(
                Routing.PREDICTED, true, Duration.ofSeconds(30), true, 0, Duration.ZERO),
            2,
            System::nanoTime);
  }

  private void open(String name, long weightBytes) {
    CpuDevice device =
        CpuDevice.open(
            name, new ByteSize(weightBytes), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
    DeviceMemory memory = new DeviceMemory(device.persistent());
    ResidencySettings all = ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL);
    SwitcherSettings settings =
        SwitcherSettings.of(weightBytes, 64 << 20, 1, 100, 1 << 20, new EqualBytesGrouping(8, 1))
            .withResidency(
                new ResidencySettings(all.config(), all.profiles(), all.costs(), 0.5, false));
    devices.add(device);
    switchers.put(
        name,
        new Switcher(
            device, memory, runtime.sessions(device, memory, 1), settings, ReadWeights::of));
  }

  @AfterEach
  void everythingIsGivenBack() {
    group.close();
    switchers.values().forEach(Switcher::close);
    for (CpuDevice device : devices) {
      assertEquals(device.pages().total(), device.pages().free());
      device.close();
    }
    runtime.close();
  }

  private ImportedModel chain(String name, int layers) throws IOException {
    return TestImports.of(TestModels.chain(layers, WIDTH, 1), name, folder);
  }

  @Test
  void register_firstDeviceIsTooSmall_takesTheOther() throws Exception {
    ImportedModel large = chain("large", LAYERS);
    group.register(large, ModelOptions.DEFAULT);
    Call call = new Call();
    group.submit(Call.request(large.version(), new float[WIDTH]), call);
    assertEquals(WIDTH, call.await().length);
    ImportedModel tooLarge = chain("too-large", 2 * LAYERS);
    StatusException refusal =
        assertThrows(StatusException.class, () -> group.register(tooLarge, ModelOptions.DEFAULT));
    assertEquals(Status.INSUFFICIENT_MEMORY, refusal.status());
    ImportedModel small = chain("small", 1);
    group.register(small, ModelOptions.DEFAULT);
    assertEquals(
        LAYER,
        Objects.requireNonNull(switchers.get("cpu:0"))
            .memory()
            .weights()
            .entries()
            .getFirst()
            .weightBytes());
  }

  @Test
  void submit_offlineRequestNeverFitsItsModelsDevice_isAnsweredByTheOther() throws Exception {
    ImportedModel model = chain("background", 2);
    group.register(model, ModelOptions.DEFAULT);
    assertEquals(List.of("cpu:0"), group.devices(model.version()));
    Call call = new Call();
    group.submit(Call.request(model.version(), new float[WIDTH]).offline(), call);
    assertEquals(WIDTH, call.await().length);
  }

  @Test
  void submit_offlineRequestNeverFitsAnyDevice_isRefused() throws Exception {
    ImportedModel model = chain("background", LAYERS);
    group.register(model, ModelOptions.DEFAULT);
    Call call = new Call();
    group.submit(Call.request(model.version(), new float[WIDTH]).offline(), call);
    assertTrue(NeverFits.isBehind(assertThrows(StatusException.class, call::await)));
  }
}
