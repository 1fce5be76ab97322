package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.sharing.EvictionCounts;
import io.pipelane.switcher.sharing.SharingSettings;
import io.pipelane.switcher.sharing.WatchedMemory;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.util.List;
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
  private final WatchedMemory watched = new WatchedMemory();
  private final Switcher switcher = open();

  private Switcher open() {
    SwitcherSettings settings =
        SwitcherSettings.of(WEIGHTS, 64 * MIB, 1, 1_000, 1 << 20, new EqualBytesGrouping(8, 1))
            .withSharing(
                new SharingSettings(
                    PipelaneConfig.of(
                            Map.of(
                                "sharing.offline-memory-percent",
                                "100",
                                "sharing.period",
                                "2ms",
                                "sharing.overlimit-period",
                                "10ms"))
                        .sharing(),
                    watched));
    Switcher opened = new Switcher(device, memory, sessions, settings, BoundSessions::weights);
    opened.register(offline);
    opened.register(online);
    await(opened, SharingState.HEALTHY);
    return opened;
  }

  /** The device is looked at by a thread of its own. */
  private static void await(Switcher watching, SharingState state) {
    while (watching.sharing().overview().seen().state() != state) {
      Thread.onSpinWait();
    }
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

  /** Its caller is told that, and not that its run made way. */
  @Test
  void offlineRun_makesWayWhileNothingCanRun_failsForThatReason() throws Exception {
    sessions.beforeRun =
        () -> {
          waitInFirstRun();
          if (sessions.lost && runs.get() > 1) {
            throw StatusException.unavailable("no worker process is ready");
          }
        };
    Call first = new Call();
    switcher.submit(Call.request(offline.version(), 1f).offline(), first);
    begun.await();
    sessions.lost = true;
    Call second = new Call();
    switcher.submit(Call.request(online.version(), 1f), second);
    mayGoOn.countDown();
    for (Call call : List.of(second, first)) {
      StatusException refusal = assertThrows(StatusException.class, call::await);
      assertEquals("no worker process is ready", refusal.getMessage());
    }
  }

  /** Nobody online asks for it: the device is to have it back. */
  @Test
  void offlineRun_deviceRunsOutOfMemory_givesAllOfItsPagesBackAndBeginsAnewOnceThatIsOver()
      throws Exception {
    sessions.beforeRun = this::waitInFirstRun;
    Call call = new Call();
    switcher.submit(Call.request(offline.version(), 1f).offline(), call);
    begun.await();
    watched.taken = () -> WatchedMemory.FULL;
    await(switcher, SharingState.OVERLIMIT);
    mayGoOn.countDown();
    while (switcher.sharing().overview().evictions().memoryReturns() == 0) {
      Thread.onSpinWait();
    }
    EvictionCounts evictions = switcher.sharing().overview().evictions();
    assertEquals(192 << 10, evictions.memoryBytes());
    assertEquals(1, evictions.memoryReturns());
    assertEquals(1, evictions.stops());
    assertEquals(device.pages().total(), device.pages().free());
    assertEquals(0, call.answers());
    switcher.verify();
    watched.taken = () -> WatchedMemory.HALF;
    assertArrayEquals(new float[] {7, 7}, call.await());
    assertEquals(2, runs.get(), "the second time from its begin to its end");
    assertEquals(1, call.answers());
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

  /** Whoever wants the weights gone waits for the run's end. */
  @Test
  void evict_runIsHeldByOnlineWork_goesOnThough() throws Exception {
    sessions.beforeRun = this::waitInFirstRun;
    Call held = new Call();
    switcher.submit(Call.request(offline.version(), 1f).offline(), held);
    begun.await();
    OfflineGate gate = switcher.sharing().gate();
    ResultHandler inFlight = gate.online().begin(new Call());
    mayGoOn.countDown();
    while (gate.runs().ranSince(gate.runs().mark())) {
      Thread.onSpinWait();
    }
    switcher.evict(offline.version());
    assertArrayEquals(new float[] {7, 7}, held.await());
    assertTrue(gate.online().isInFlight());
    inFlight.completed(new InferenceTimings(0, 0, 0));
  }
}
