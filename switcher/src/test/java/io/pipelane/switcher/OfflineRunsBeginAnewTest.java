package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.Bandwidth;
import io.pipelane.config.ByteSize;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.ResidencyConfig;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.monitor.DeviceMonitor;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.memory.ResidencySettings;
import io.pipelane.switcher.sharing.SharingSettings;
import io.pipelane.switcher.sharing.SharingState;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Offline runs on a device whose memory holds one of two models. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OfflineRunsBeginAnewTest {
  private static final long MIB = 1 << 20;
  private static final long WEIGHTS = 256 << 10;

  private final Device device =
      CpuDevice.open(new ByteSize(WEIGHTS), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
  private final DeviceMemory memory = new DeviceMemory(device.persistent());
  private final BoundSessions sessions = new BoundSessions(memory, MIB);
  private final ImportedModel offline = BoundSessions.model("7", "one structure", 192 << 10);
  private final ImportedModel online = BoundSessions.model("8", "another", 192 << 10);
  private final AtomicInteger runs = new AtomicInteger();
  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch mayGoOn = new CountDownLatch(1);
  private final Switcher switcher = open();

  private Switcher open() {
    SwitcherSettings settings =
        new SwitcherSettings(
            WEIGHTS,
            64 * MIB,
            0,
            0,
            1,
            1_000,
            1 << 20,
            new EqualBytesGrouping(8, 1),
            SegmentProfiles.inMemory(),
            ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL),
            PipelaneConfig.defaults().scheduling(),
            new SharingSettings(
                PipelaneConfig.of(Map.of("sharing.offline-memory-percent", "100")).sharing(),
                DeviceMonitor.none("nobody looks")));
    Switcher opened = new Switcher(device, memory, sessions, settings, BoundSessions::weights);
    opened.register(offline);
    opened.register(online);
    while (opened.sharing().overview().seen().state() != SharingState.HEALTHY) {
      Thread.onSpinWait(); // The device is looked at by a thread of its own.
    }
    return opened;
  }

  @AfterEach
  void everythingIsGivenBack() {
    switcher.verify();
    switcher.close();
    assertEquals(0, sessions.open.get());
    assertEquals(0, device.persistent().usedBytes());
    device.close();
  }

  private void waitInFirstRun() {
    if (runs.getAndIncrement() == 0) {
      begun.countDown();
      try {
        mayGoOn.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /** It stands at its gate for the online request, which needs the memory that it holds. */
  @Test
  void offlineRun_onlineRequestNeedsItsMemory_endsAndBeginsAnewBehindIt() throws Exception {
    sessions.beforeRun = this::waitInFirstRun;
    Call first = new Call();
    switcher.submit(Call.request(offline.version(), 1f).offline(), first);
    begun.await();
    Call second = new Call();
    switcher.submit(Call.request(online.version(), 1f), second);
    mayGoOn.countDown();
    assertArrayEquals(new float[] {8, 8}, second.await());
    assertArrayEquals(new float[] {7, 7}, first.await());
    assertEquals(1, first.answers());
    assertEquals(3, runs.get(), "one of them twice");
    assertEquals(1, switcher.sharing().overview().offline().madeWay());
  }

  /** Its caller hears of the end as of any. */
  @Test
  void offlineRun_itsCallerGoesAsWell_isNotMadeAgain() throws Exception {
    sessions.beforeRun = this::waitInFirstRun;
    Call first = new Call();
    InferenceService.Ticket ticket =
        switcher.submit(Call.request(offline.version(), 1f).offline(), first);
    begun.await();
    Call second = new Call();
    switcher.submit(Call.request(online.version(), 1f), second);
    ticket.cancel();
    mayGoOn.countDown();
    assertArrayEquals(new float[] {8, 8}, second.await());
    while (first.answers() == 0) {
      Thread.onSpinWait();
    }
    assertEquals(2, runs.get());
    assertEquals(1, first.answers());
  }
}
