package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.PlacementConfig;
import io.pipelane.config.section.PlacementConfig.Routing;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.placement.SwitcherGroup;
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

/** Two devices, of which one refuses a model that has cost it its workers. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RefusingDeviceTest {
  private static final long MEMORY = 4 << 20;
  private static final int WIDTH = 32;

  @TempDir Path folder;
  private final List<CpuDevice> devices = new ArrayList<>();
  private final List<SteppedSessions> sessions = new ArrayList<>();
  private final Map<String, Switcher> switchers = new LinkedHashMap<>();
  private final SwitcherGroup group;

  RefusingDeviceTest() {
    for (String name : List.of("cpu:0", "cpu:1")) {
      CpuDevice device =
          CpuDevice.open(name, new ByteSize(MEMORY), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
      DeviceMemory memory = new DeviceMemory(device.persistent());
      SteppedSessions stepped = new SteppedSessions(memory);
      SwitcherSettings settings =
          SwitcherSettings.of(MEMORY, 64 << 20, 1, 1000, 64 << 20, new EqualBytesGrouping(8, 1));
      devices.add(device);
      sessions.add(stepped);
      switchers.put(name, new Switcher(device, memory, stepped, settings, ReadWeights::of));
    }
    group =
        new SwitcherGroup(
            switchers,
            new PlacementConfig(
                Routing.ROUND_ROBIN, false, Duration.ofSeconds(30), true, 0, Duration.ZERO),
            2,
            System::nanoTime);
  }

  @AfterEach
  void everythingIsGivenBack() {
    group.close();
    for (Switcher switcher : switchers.values()) {
      switcher.verify();
      switcher.close();
    }
    for (CpuDevice device : devices) {
      assertEquals(device.pages().total(), device.pages().free());
      device.close();
    }
  }

  private static void loseWorkers(SteppedSessions ofDevice) {
    ofDevice.taken =
        (structure, count) -> {
          throw new WorkerLostException("worker 7 ended", Blame.ALONE);
        };
  }

  private void infer(ImportedModel model) {
    Call call = new Call();
    group.submit(Call.request(model.version(), new float[WIDTH]), call);
    call.await();
  }

  private long routed(String device) {
    return Objects.requireNonNull(group.overview().get(device)).routed();
  }

  @Test
  void modelThatOneDeviceRefuses_isAnsweredByTheOther() throws IOException {
    ImportedModel model = TestImports.of(TestModels.chain(2, WIDTH, 1), "bad", folder);
    group.register(model, ModelOptions.DEFAULT);
    infer(model);
    loseWorkers(sessions.get(1));
    StatusException lost = assertThrows(StatusException.class, () -> infer(model));
    assertEquals(Status.UNAVAILABLE, lost.status());
    long before = routed("cpu:1");
    for (int i = 0; i < 10; i++) {
      infer(model);
    }
    assertEquals(before, routed("cpu:1"));
    assertTrue(group.quarantine(model.version()).isEmpty(), "one device answers for it");
    loseWorkers(sessions.get(0));
    assertThrows(StatusException.class, () -> infer(model));
    assertTrue(group.quarantine(model.version()).isPresent());
    sessions.forEach(each -> each.taken = (structure, count) -> {});
    group.trust(model.version());
    infer(model);
    infer(model);
    assertEquals(before + 1, routed("cpu:1"));
  }
}
