package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.sharing.WatchedMemory;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Offline work on a device that lacks memory. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MemoryOverloadTest {
  private static final long MIB = 1 << 20;
  private static final long WEIGHTS = 256 << 10;
  private static final int TOO_MANY = 40;

  private final Device device =
      CpuDevice.open(new ByteSize(WEIGHTS), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
  private final DeviceMemory memory = new DeviceMemory(device.persistent());
  private final BoundSessions sessions = new BoundSessions(memory, MIB);
  private final ImportedModel first = BoundSessions.model("7", "one structure", 192 << 10);
  private final ImportedModel second = BoundSessions.model("8", "another", 192 << 10);
  private final WatchedMemory watched = new WatchedMemory();
  private final AtomicInteger runs = new AtomicInteger();
  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch mayGoOn = new CountDownLatch(1);

  private Switcher open(String protection, String share) {
    Map<String, String> sharing =
        Map.of(
            "sharing.protection",
            protection,
            "sharing.multiprocessors",
            share,
            "sharing.offline-memory-percent",
            "100",
            "sharing.period",
            "2ms",
            "sharing.overlimit-period",
            "10ms");
    SwitcherSettings settings = SharedLane.settings(WEIGHTS, sharing, watched);
    Switcher switcher = new Switcher(device, memory, sessions, settings, BoundSessions::weights);
    switcher.register(first);
    switcher.register(second);
    await(switcher, SharingState.HEALTHY);
    return switcher;
  }

  private void firstRunWaits() {
    if (runs.getAndIncrement() == 0) {
      begun.countDown();
      Latches.await(mayGoOn);
    }
  }

  /** A run takes as long as some looks at the device, which has memory again after too many. */
  private void takesAWhile() {
    if (runs.incrementAndGet() > TOO_MANY) {
      watched.taken = () -> WatchedMemory.HALF;
      return;
    }
    int until = watched.looks.get() + 4;
    while (watched.looks.get() < until) {
      Thread.onSpinWait();
    }
  }

  private static void await(Switcher watching, SharingState state) {
    while (watching.sharing().overview().seen().state() != state) {
      Thread.onSpinWait();
    }
  }

  private static boolean isAnswered(Call call) {
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (call.answers() == 0 && System.nanoTime() < until) {
      Thread.onSpinWait();
    }
    return call.answers() > 0;
  }

  private void close(Switcher switcher, Call... calls) {
    watched.taken = () -> WatchedMemory.HALF;
    for (Call call : calls) {
      float[] _ = call.await();
    }
    switcher.close();
    device.close();
  }

  private void runWhileFull(String protection, Consumer<Switcher> then) {
    Switcher switcher = open(protection, "off");
    watched.taken = () -> WatchedMemory.FULL;
    await(switcher, SharingState.OVERLIMIT);
    sessions.beforeRun = this::takesAWhile;
    Call call = new Call();
    switcher.submit(Call.request(first.version(), 1f).offline(), call);
    then.accept(switcher);
    float[] _ = call.await();
    close(switcher);
    assertEquals(1, call.answers());
    assertTrue(runs.get() <= 2, () -> "it has begun " + runs + " times");
  }

  @Test
  void overload_drains_offlineRunComesToItsEnd() {
    runWhileFull("gates", Switcher::beginDrain);
  }

  @Test
  void overload_noProtection_offlineRunComesToItsEnd() {
    runWhileFull("none", _ -> {});
  }

  /** The one in the share waits for the memory of the one that stands in its lane. */
  @Test
  void overload_runInTheShareWaitsForMemory_theOtherThatStandsIsEndedForIt() {
    Switcher switcher = open("gates", "always");
    sessions.beforeRun = this::firstRunWaits;
    OfflineGate gate = switcher.sharing().gate();
    Call stands = new Call();
    switcher.submit(Call.request(first.version(), 1f).offline(), stands);
    Latches.await(begun);
    ResultHandler online = gate.online().begin(new Call());
    Call waits = new Call();
    switcher.submit(Call.request(second.version(), 1f).offline(), waits);
    while (gate.runs().counts().running() < 2) {
      Thread.onSpinWait();
    }
    watched.taken =
        () -> gate.runs().counts().madeWay() == 0 ? WatchedMemory.FULL : WatchedMemory.HALF;
    await(switcher, SharingState.OVERLIMIT);
    mayGoOn.countDown();
    online.completed(new InferenceTimings(0, 0, 0));
    boolean isAnswered = isAnswered(stands);
    close(switcher, stands, waits);
    assertTrue(isAnswered, "it stands, and keeps the device full");
  }

  /** Offline work has nothing but the share, and its run stands there. */
  @Test
  void overload_runInTheShareAlone_isNotHeldForWhatItHoldsItself() {
    Switcher switcher = open("none", "always");
    sessions.beforeRun = this::firstRunWaits;
    Call stands = new Call();
    switcher.submit(Call.request(first.version(), 1f).offline(), stands);
    Latches.await(begun);
    watched.taken =
        () ->
            device.pages().free() < device.pages().total()
                ? WatchedMemory.FULL
                : WatchedMemory.HALF;
    await(switcher, SharingState.OVERLIMIT);
    mayGoOn.countDown();
    boolean isAnswered = isAnswered(stands);
    close(switcher, stands);
    assertTrue(isAnswered, "it stands, and keeps the device full");
  }
}
