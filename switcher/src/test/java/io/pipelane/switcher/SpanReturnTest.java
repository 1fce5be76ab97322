package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.section.PlacementConfig;
import io.pipelane.config.section.PlacementConfig.Routing;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.placement.SwitcherGroup;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A model over two devices, one of which cannot be used for a time. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SpanReturnTest {
  private static final long PAGE = 16 << 10;
  private static final long PART = 4 * PAGE;
  private static final List<String> NAMES = List.of("cpu:0", "cpu:1");

  private final List<CpuDevice> devices = new ArrayList<>();
  private final List<SteppedSessions> sessions = new ArrayList<>();
  private final Map<String, Switcher> switchers = new LinkedHashMap<>();
  private final SwitcherGroup group;

  SpanReturnTest() {
    for (String name : NAMES) {
      CpuDevice device =
          CpuDevice.open(name, new ByteSize(2 * PART), new ByteSize(PAGE), Bandwidth.UNLIMITED);
      DeviceMemory memory = new DeviceMemory(device.persistent());
      SteppedSessions here = new SteppedSessions(memory);
      SwitcherSettings settings =
          SwitcherSettings.of(2 * PART, 8 << 20, 2, 100, 1 << 20, new EqualBytesGrouping(4, 1));
      devices.add(device);
      sessions.add(here);
      switchers.put(name, new Switcher(device, memory, here, settings, BoundSessions::weights));
    }
    PlacementConfig config =
        new PlacementConfig(
            Routing.PREDICTED, true, Duration.ofSeconds(30), true, 0, Duration.ZERO);
    group = new SwitcherGroup(switchers, config, 2, System::nanoTime);
    group.spans().place("both", Map.of("1", 0, "2", 1));
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

  private ImportedModel registered(int number) {
    ImportedModel model =
        BoundSessions.model(Integer.toString(number), "structure " + number, PART);
    group.register(model, ModelOptions.DEFAULT);
    return model;
  }

  private static void ask(InferenceService.Hold service, ImportedModel model) {
    Call call = new Call();
    service.submit(Call.request(model.version(), 1), call);
    float number = Float.parseFloat(model.version().model());
    assertArrayEquals(new float[] {number, number}, call.await());
  }

  private void askWhole(ImportedModel first, ImportedModel second) {
    List<ModelVersion> models = List.of(first.version(), second.version());
    try (Hold whole = group.spans().switchIn("both", models)) {
      ask(whole, first);
      ask(whole, second);
    }
  }

  private void assertIsOn(String device, ImportedModel model) {
    assertEquals(List.of(device), group.devices(model.version()));
    assertEquals(List.of(device), group.devicesThatCanServe(model.version()));
  }

  private long lent(int device) {
    return Objects.requireNonNull(switchers.get(NAMES.get(device))).memory().weights().lentBytes();
  }

  @Test
  void partIsRegisteredWhileItsDeviceIsLost_isOnThatAloneOnceItIsUsableAgain() {
    sessions.get(1).lost = true;
    ImportedModel first = registered(1);
    ImportedModel second = registered(2);
    ask(group::submit, second);
    sessions.get(1).lost = false;
    askWhole(first, second);
    assertIsOn("cpu:0", first);
    assertIsOn("cpu:1", second);
  }

  @Test
  void partIsRegisteredWhileItsDeviceIsLost_theWholeMovesThereAndBack() {
    sessions.get(1).lost = true;
    ImportedModel first = registered(1);
    ImportedModel second = registered(2);
    askWhole(first, second);
    assertIsOn("cpu:0", second);
    sessions.get(1).lost = false;
    askWhole(first, second);
    assertIsOn("cpu:1", second);
    while (lent(0) != PART) {
      Thread.onSpinWait();
    }
  }

  @Test
  void partIsAskedWhileItsDeviceIsLost_isOnThatAloneOnceTheWholeIsAskedAgain() {
    ImportedModel first = registered(1);
    ImportedModel second = registered(2);
    askWhole(first, second);
    sessions.get(1).lost = true;
    ask(group::submit, second);
    assertEquals(List.of("cpu:0"), group.devices(second.version()));
    sessions.get(1).lost = false;
    askWhole(first, second);
    assertIsOn("cpu:1", second);
    while (lent(0) != PART) {
      Thread.onSpinWait();
    }
  }
}
