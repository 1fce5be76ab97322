package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.BytesSource;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.lanes.monitor.DeviceMonitor;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Offline work in a lane that keeps to a share of the device, which the processor imitates. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ShareLaneTest {
  private static final long MIB = 1 << 20;
  private static final long WEIGHTS = 256 << 10;
  private static final long SESSION = MIB;
  private static final float NUMBER = 7;
  private static final long MILLISECOND = 1_000_000;

  /** What the switcher's clock is ahead by: tests move it on instead of waiting. */
  private final AtomicLong aheadNanos = new AtomicLong();

  private final Device device =
      CpuDevice.open(new ByteSize(WEIGHTS), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
  private DeviceMemory memory = new DeviceMemory(device.persistent());
  private BoundSessions sessions = new BoundSessions(memory, SESSION);
  private final ImportedModel model = BoundSessions.model("7", "a structure", 64 << 10);
  private Switcher switcher = open("gates");

  private Switcher open(String protection) {
    return open(device, protection);
  }

  private Switcher open(Device device, String protection) {
    return open(device, Map.of("sharing.protection", protection));
  }

  private Switcher open(Device device, Map<String, String> sharing) {
    Map<String, String> config = new HashMap<>(sharing);
    config.putIfAbsent("sharing.multiprocessors", "always");
    SwitcherSettings settings =
        SharedLane.settings(WEIGHTS, config, DeviceMonitor.none("nobody looks"));
    Switcher opened =
        new Switcher(device, memory, sessions, settings, ShareLaneTest::weights, this::now);
    opened.register(model);
    while (opened.sharing().overview().seen().state() != SharingState.HEALTHY) {
      Thread.onSpinWait(); // The device is looked at by a thread of its own.
    }
    return opened;
  }

  private long now() {
    return System.nanoTime() + aheadNanos.get();
  }

  private static WeightSource weights(ImportedModel model) {
    byte[] content = new byte[(int) model.plan().weightBytes()];
    Arrays.fill(content, (byte) NUMBER);
    return new BytesSource(content);
  }

  @AfterEach
  void everythingIsGivenBack() {
    switcher.verify();
    switcher.close();
    assertEquals(0, sessions.open.get());
    assertEquals(0, device.persistent().usedBytes());
    device.close();
  }

  private Call offline() {
    Call call = new Call();
    switcher.submit(Call.request(model.version(), 1f).offline(), call);
    return call;
  }

  private static void requireAnswered(Call call) {
    assertArrayEquals(new float[] {NUMBER, NUMBER}, call.await());
    assertEquals(1, call.answers());
  }

  @Test
  void offlineRuns_whileOnlineWorkIsInFlight_haveASessionOfTheirOwn() {
    OfflineGate gate = switcher.sharing().gate();
    ResultHandler online = gate.online().begin(new Call());
    for (int i = 0; i < 20; i++) {
      requireAnswered(offline());
    }
    assertEquals(2, sessions.built.get(), "one of the lanes', one of the share's");
    assertTrue(gate.online().isInFlight());
    online.completed(new InferenceTimings(0, 0, 0));
    requireAnswered(offline());
  }

  @Test
  void runThatStandsAtAGate_countsAsHeld() {
    switcher.close();
    memory = new DeviceMemory(device.persistent());
    sessions = new BoundSessions(memory, SESSION);
    switcher =
        open(device, Map.of("sharing.period", "10s")); // Nobody sets another state meanwhile.
    OfflineGate gate = switcher.sharing().gate();
    ResultHandler online = gate.online().begin(new Call());
    CountDownLatch begun = new CountDownLatch(1);
    sessions.beforeRun =
        () -> {
          gate.setState(SharingState.OVERLIMIT);
          begun.countDown();
        };
    Call call = offline();
    Latches.await(begun);
    while (gate.runs().mark() < 0) {
      Thread.onSpinWait(); // It comes to its gate, and stands.
    }
    long stands = System.nanoTime();
    assertEquals(1, gate.runs().counts().running());
    long stood = System.nanoTime() - stands;
    gate.setState(SharingState.HEALTHY);
    requireAnswered(call);
    assertTrue(gate.runs().counts().heldNanos() >= stood);
    online.completed(new InferenceTimings(0, 0, 0));
  }

  @Test
  void runThatFailsThere_isMadeElsewhere() {
    ResultHandler online = switcher.sharing().gate().online().begin(new Call());
    sessions.failures.set(1);
    Call call = offline();
    while (sessions.failures.get() > 0) {
      Thread.onSpinWait();
    }
    Call second = offline();
    online.completed(new InferenceTimings(0, 0, 0));
    requireAnswered(call);
    requireAnswered(second);
    assertEquals(1, sessions.built.get(), "none for the share");
  }

  /** Has runs fail, the outputs of which are written. */
  private void fail(int runs, Supplier<RuntimeException> reason) {
    AtomicInteger left = new AtomicInteger(runs);
    sessions.inRun =
        _ -> {
          if (left.getAndDecrement() > 0) {
            throw reason.get();
          }
        };
  }

  @Test
  void runThatFailsThereWithItsOutputsPlaced_isGivenThemElsewhere() {
    ResultHandler online = switcher.sharing().gate().online().begin(new Call());
    fail(1, () -> new StatusException(Status.INTERNAL, "on purpose"));
    Call call = offline();
    while (switcher.sharing().gate().runs().counts().ended() == 0) {
      Thread.onSpinWait();
    }
    online.completed(new InferenceTimings(0, 0, 0));
    requireAnswered(call);
    assertEquals(1, call.places());
  }

  @Test
  void runThatLosesItsWorkerThere_isDoneOnceMoreAndPlacesItsOutputsOnce() {
    ResultHandler online = switcher.sharing().gate().online().begin(new Call());
    fail(1, () -> new WorkerLostException("worker 7 ended", Blame.ALONE));
    Call call = offline();
    requireAnswered(call);
    assertEquals(1, call.places());
    online.completed(new InferenceTimings(0, 0, 0));
  }

  /** A lost worker is not the partition's fault. */
  @Test
  void runThatLosesItsWorkerTwiceThere_keepsItsModelInTheShare() {
    OfflineGate gate = switcher.sharing().gate();
    ResultHandler online = gate.online().begin(new Call());
    fail(2, () -> new WorkerLostException("worker 7 ended", Blame.UNKNOWN));
    Call lost = offline();
    assertThrows(StatusException.class, lost::await);
    requireAnswered(offline());
    assertTrue(gate.online().isInFlight());
    online.completed(new InferenceTimings(0, 0, 0));
  }

  /** Its next goes elsewhere at once, and others of its model still have the share. */
  @Test
  void runTooLargeForTheLane_isMadeElsewhereAndKeepsOtherShapesInTheShare() {
    OfflineGate gate = switcher.sharing().gate();
    ResultHandler online = gate.online().begin(new Call());
    fail(1, () -> new OutOfDeviceMemoryException(1 << 30));
    Call large = offline();
    while (gate.runs().counts().ended() == 0) {
      Thread.onSpinWait();
    }
    Call other = new Call();
    switcher.submit(Call.request(model.version(), 1f, 2f).offline(), other);
    other.await();
    assertTrue(gate.online().isInFlight(), "the other ran in the share");
    online.completed(new InferenceTimings(0, 0, 0));
    requireAnswered(large);
  }

  /** The next of its kind has the share again. */
  @Test
  void runThatFindsTooLittleMemoryForTheMoment_isMadeElsewhereAndKeepsItsShapesInTheShare() {
    OfflineGate gate = switcher.sharing().gate();
    ResultHandler online = gate.online().begin(new Call());
    fail(1, () -> new StatusException(Status.INSUFFICIENT_MEMORY, "the device has none left"));
    Call unlucky = offline();
    while (gate.runs().counts().ended() == 0) {
      Thread.onSpinWait();
    }
    requireAnswered(offline());
    assertTrue(gate.online().isInFlight(), "the next ran in the share");
    online.completed(new InferenceTimings(0, 0, 0));
    requireAnswered(unlucky);
  }

  @Test
  void runThatLosesItsWorkerTwiceThere_isNotMadeElsewhere() {
    OfflineGate gate = switcher.sharing().gate();
    ResultHandler online = gate.online().begin(new Call());
    fail(2, () -> new WorkerLostException("worker 7 ended", Blame.UNKNOWN));
    Call call = offline();
    while (gate.runs().counts().ended() == 0) {
      Thread.onSpinWait();
    }
    online.completed(new InferenceTimings(0, 0, 0));
    StatusException error = assertThrows(StatusException.class, call::await);
    assertEquals(Status.UNAVAILABLE, error.status());
    assertEquals(1, call.answers());
  }

  /** Such as an index out of range: the share is not to blame. */
  @Test
  void runThatFailsElsewhereToo_keepsNoOthersFromTheShare() {
    OfflineGate gate = switcher.sharing().gate();
    ResultHandler online = gate.online().begin(new Call());
    fail(2, () -> new StatusException(Status.INTERNAL, "on purpose"));
    Call bad = offline();
    while (gate.runs().counts().ended() == 0) {
      Thread.onSpinWait();
    }
    online.completed(new InferenceTimings(0, 0, 0));
    assertThrows(StatusException.class, bad::await);
    online = gate.online().begin(new Call());
    requireAnswered(offline());
    online.completed(new InferenceTimings(0, 0, 0));
  }

  /** Whether they pay is asked first. */
  @Test
  void sizeInWhichTheFirstRunFails_givesWayToTheNextSmaller() {
    switcher.close();
    memory = new DeviceMemory(device.persistent());
    sessions = new BoundSessions(memory, SESSION);
    switcher = open(device, Map.of("sharing.multiprocessors", "measured", "sharing.period", "2ms"));
    OfflineGate gate = switcher.sharing().gate();
    ResultHandler online = gate.online().begin(new Call());
    while (!gate.trial().isOpen()) {
      gate.trial().onlineAnswered("kind", now(), 1_000);
      gate.trial().offlineRan(1_000);
      aheadNanos.addAndGet(MILLISECOND); // The device is looked at meanwhile.
    }
    assertEquals(1, gate.trial().size(), "5, 10 and 20 %, of which 10 are usual");
    sessions.failures.set(1);
    Call failed = offline();
    while (gate.trial().size() == 1) {
      Thread.onSpinWait();
    }
    assertEquals(0, gate.trial().size(), "nothing has run in the other");
    requireAnswered(offline());
    assertTrue(gate.online().isInFlight(), "nobody goes on elsewhere");
    online.completed(new InferenceTimings(0, 0, 0));
    requireAnswered(failed);
  }

  @Test
  void withoutGates_offlineWorkHasTheShareAlone() {
    switcher.close();
    memory = new DeviceMemory(device.persistent());
    sessions = new BoundSessions(memory, SESSION);
    switcher = open("none");
    ResultHandler online = switcher.sharing().gate().online().begin(new Call());
    requireAnswered(offline());
    online.completed(new InferenceTimings(0, 0, 0));
    requireAnswered(offline());
    assertEquals(2, sessions.built.get());
    assertFalse(switcher.sharing().gate().mayBegin());
  }

  @Test
  void deviceThatIsNotDivided_keepsItsWorkingMemory() {
    switcher.close();
    memory = new DeviceMemory(device.persistent());
    sessions = new BoundSessions(memory, SESSION);
    switcher = open(new FailingDevice(device), "none");
    assertEquals(64 * MIB, switcher.memory().workingBytes());
    requireAnswered(offline());
  }

  @Test
  void withoutGates_runLargerThanTheShare_isRefusedForWantOfMemory() {
    switcher.close();
    memory = new DeviceMemory(device.persistent());
    sessions = new BoundSessions(memory, SESSION);
    switcher = open("none");
    fail(1, () -> new OutOfDeviceMemoryException(1 << 30));
    StatusException error = assertThrows(StatusException.class, offline()::await);
    assertEquals(Status.INSUFFICIENT_MEMORY, error.status());
    requireAnswered(offline());
  }

  @Test
  void withoutGates_sessionThatOutgrowsItsRoom_isGivenMore() {
    switcher.close();
    memory = new DeviceMemory(device.persistent());
    sessions = new BoundSessions(memory, SESSION);
    switcher = open("none");
    sessions.outgrown.set(2);
    requireAnswered(offline());
  }

  @Test
  void online_runsInNoShare() {
    for (int i = 0; i < 20; i++) {
      Call call = new Call();
      switcher.submit(Call.request(model.version(), 1f), call);
      requireAnswered(call);
    }
    assertEquals(1, sessions.built.get());
  }
}
