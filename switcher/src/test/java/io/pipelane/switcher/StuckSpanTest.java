package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.PlacementConfig;
import io.pipelane.config.section.PlacementConfig.Routing;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.switcher.InferenceService.Hold;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.placement.SwitcherGroup;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A model over two devices, on one of which a run is killed with its process, which stays. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StuckSpanTest {
  private static final long PAGE = 16 << 10;
  private static final long WEIGHTS = 8 * PAGE;
  private static final List<String> NAMES = List.of("cpu:0", "cpu:1");

  private final List<CpuDevice> devices = new ArrayList<>();
  private final Map<String, Switcher> switchers = new LinkedHashMap<>();
  private final SwitcherGroup group;
  private final CountDownLatch gone = new CountDownLatch(1);

  StuckSpanTest() {
    for (String name : NAMES) {
      CpuDevice device =
          CpuDevice.open(name, new ByteSize(WEIGHTS), new ByteSize(PAGE), Bandwidth.UNLIMITED);
      DeviceMemory memory = new DeviceMemory(device.persistent());
      SteppedSessions sessions = new SteppedSessions(memory);
      sessions.taken = (structure, _) -> stick(structure);
      SwitcherSettings settings =
          SwitcherSettings.of(WEIGHTS, 8 << 20, 2, 100, 1 << 20, new EqualBytesGrouping(4, 1));
      devices.add(device);
      switchers.put(name, new Switcher(device, memory, sessions, settings, BoundSessions::weights));
    }
    PlacementConfig config =
        new PlacementConfig(
            Routing.PREDICTED, true, Duration.ofSeconds(30), true, 0, Duration.ZERO);
    group = new SwitcherGroup(switchers, config, 2, System::nanoTime);
  }

  private void stick(String structure) {
    if (structure.equals("stays")) {
      throw new WorkerStuckException("its worker stays", Blame.OTHERS, () -> Latches.await(gone));
    }
  }

  @AfterEach
  void everythingIsGivenBack() {
    gone.countDown();
    group.close();
    for (Switcher switcher : switchers.values()) {
      while (!switcher.memory().weights().isQuiet()) {
        Thread.onSpinWait();
      }
      switcher.verify();
      switcher.close();
    }
    for (CpuDevice device : devices) {
      assertEquals(device.pages().total(), device.pages().free());
      device.close();
    }
  }

  private ImportedModel registered(int number, String structure, long bytes) {
    ImportedModel model = BoundSessions.model(Integer.toString(number), structure, bytes);
    group.register(model, ModelOptions.DEFAULT);
    return model;
  }

  private Switcher switcher(int device) {
    return Objects.requireNonNull(switchers.get(NAMES.get(device)));
  }

  private Ledger weights(int device) {
    return switcher(device).memory().weights();
  }

  /** The stuck one has what it had of the device that it ran on, and nothing of others. */
  @Test
  void run_isStuckOnOneDevice_othersHaveTheirMemoryBackAsSoonAsTheCallerIsTold() {
    group.spans().place("both", Map.of("1", 0, "2", 1));
    ImportedModel first = registered(1, "goes on", 4 * PAGE);
    ImportedModel second = registered(2, "stays", 4 * PAGE);
    List<ModelVersion> models = List.of(first.version(), second.version());
    Hold whole = group.spans().switchIn("both", models);
    Call call = new Call();
    whole.submit(Call.request(second.version(), 1), call.andThen(whole::close));
    StatusException error = assertThrows(StatusException.class, call::await);
    assertEquals(Status.UNAVAILABLE, error.status(), error.toString());
    while (!weights(0).isQuiet() || leases(1) > 1) {
      Thread.onSpinWait();
    }
    assertEquals(1, leases(1));
    StatusException again =
        assertThrows(
            StatusException.class,
            () -> ask(group.spans().switchIn("both", models), second.version()));
    assertEquals(Status.UNAVAILABLE, again.status(), again.toString());
    ImportedModel large = registered(3, "large", WEIGHTS);
    Call onFirst = new Call();
    switcher(0).submit(Call.request(large.version(), 1), onFirst);
    assertArrayEquals(new float[] {3, 3}, onFirst.await());
  }

  private static void ask(Hold whole, ModelVersion model) {
    Call call = new Call();
    whole.submit(Call.request(model, 1), call.andThen(whole::close));
    call.await();
  }

  private int leases(int device) {
    return weights(device).entries().stream().mapToInt(Ledger.Entry::leases).sum();
  }
}
