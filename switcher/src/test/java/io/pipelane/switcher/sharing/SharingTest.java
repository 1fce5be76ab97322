package io.pipelane.switcher.sharing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.monitor.DeviceError;
import io.pipelane.lanes.monitor.DeviceMonitor;
import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.lanes.monitor.DeviceSample.Health;
import io.pipelane.lanes.monitor.DeviceSample.Memory;
import io.pipelane.lanes.monitor.DeviceSample.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.Test;

class SharingTest {
  private static final long SECOND = 1_000_000_000L;

  private final AtomicLong now = new AtomicLong();
  private DeviceSample sample = sample(0.2, 1, 0.5);
  private boolean lost;
  private List<DeviceError> errors = List.of();
  private final Sharing sharing =
      new Sharing(
          new SharingSettings(
              PipelaneConfig.of(Map.of("sharing.memory", "80/90/95")).sharing(), new Recorded()),
          0,
          1,
          0,
          List.of(),
          now::get);

  private final class Recorded implements DeviceMonitor {
    @Override
    public DeviceSample sample() {
      if (lost) {
        throw new StatusException(Status.DEVICE_FAILURE, "the GPU is lost");
      }
      return sample;
    }

    @Override
    public List<DeviceError> errors() {
      List<DeviceError> reported = errors;
      errors = List.of();
      return reported;
    }

    @Override
    public OptionalLong memoryBytes() {
      return OptionalLong.empty();
    }

    @Override
    public String source() {
      return "a recording";
    }

    @Override
    public void close() {}
  }

  /** What offline runs are told to give back, and how often they were told to end. */
  private static class Held implements OfflineMemory {
    private final AtomicLong bytes;
    private final AtomicInteger ended;

    Held(AtomicLong bytes, AtomicInteger ended) {
      this.bytes = bytes;
      this.ended = ended;
    }

    @Override
    public long takeBackOffline() {
      return bytes.getAndSet(0);
    }

    @Override
    public void endOfflineRuns() {
      ended.incrementAndGet();
    }
  }

  private static DeviceSample sample(double activity, double clock, double memory) {
    OptionalDouble busy = OptionalDouble.of(activity);
    return new DeviceSample(
        new Work(busy, busy, OptionalDouble.of(clock), OptionalLong.empty()),
        Memory.ofDevice(OptionalDouble.of(memory)),
        Health.UNKNOWN);
  }

  /** A busy device whose activity NVML does not tell. */
  private static DeviceSample withoutActivity() {
    return new DeviceSample(
        new Work(
            OptionalDouble.of(1),
            OptionalDouble.empty(),
            OptionalDouble.empty(),
            OptionalLong.empty()),
        Memory.UNKNOWN,
        Health.UNKNOWN);
  }

  private static DeviceSample host(double pressure, double taken) {
    DeviceSample device = sample(0.2, 1, 0.5);
    return new DeviceSample(
        device.work(),
        new Memory(device.memory().taken(), OptionalDouble.of(pressure), OptionalDouble.of(taken)),
        device.health());
  }

  private SharingState look() {
    now.addAndGet(SECOND / 10);
    sharing.look();
    return sharing.overview().seen().state();
  }

  @Test
  void look_memoryFillsUp_gateClosesAndOpensAgain() {
    assertEquals(SharingState.HEALTHY, look());
    sample = sample(0.2, 1, 0.96);
    assertEquals(SharingState.OVERLIMIT, look());
    assertEquals(OfflineGate.UNTIL_TOLD, sharing.gate().waitNanos(1, 0));
    sample = sample(0.2, 1, 0.5);
    now.addAndGet(SECOND);
    assertEquals(SharingState.UNHEALTHY, look());
    assertEquals(SharingState.HEALTHY, look());
    assertEquals(1, sharing.overview().seen().overlimitEntries());
  }

  @Test
  void look_stateIsTheSame_whoWaitsAtTheGateIsNotWoken() {
    AtomicInteger told = new AtomicInteger();
    look();
    sharing.gate().onOpened(told::incrementAndGet);
    sharing.gate().onClosed(told::incrementAndGet);
    look();
    assertEquals(0, told.get());
    sample = sample(0.2, 1, 0.96);
    look();
    assertEquals(2, told.get());
    look();
    assertEquals(2, told.get());
  }

  @Test
  void look_stateChanges_theMetricThatCausedItIsLogged() {
    List<String> lines = new CopyOnWriteArrayList<>();
    Logger logger = Logger.getLogger(Sharing.class.getName());
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord line) {
            lines.add(new SimpleFormatter().formatMessage(line));
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    logger.addHandler(handler);
    try {
      look();
      sample = sample(0.2, 1, 0.96);
      look();
    } finally {
      logger.removeHandler(handler);
    }
    String expected =
        "the device is overlimit for its memory, it was healthy before: memory is 96.0 %";
    assertTrue(lines.stream().anyMatch(line -> line.startsWith(expected)), lines::toString);
  }

  /** From the order to the last run's stand, and from there to the memory's return. */
  @Test
  void look_overload_timesHowLongOfflineWorkTakesToStopAndItsMemoryToComeBack() {
    AtomicBoolean stands = new AtomicBoolean();
    OfflineRun run = stands::get;
    sharing.gate().begin(run);
    sharing.onEviction(
        new Held(new AtomicLong(4_096), new AtomicInteger()) {
          @Override
          public long takeBackOffline() {
            now.addAndGet(2_000_000);
            return super.takeBackOffline();
          }
        });
    look();
    assertFalse(sharing.watchEviction(), "nothing was ordered");
    sample = sample(0.2, 1, 0.96);
    assertEquals(SharingState.OVERLIMIT, look());
    now.addAndGet(300_000);
    assertTrue(sharing.watchEviction(), "it computes on to its gate");
    assertEquals(0, sharing.overview().evictions().stops());
    sharing.gate().end(run);
    now.addAndGet(100_000);
    assertFalse(sharing.watchEviction());
    assertEquals(
        new Evictions(1, 400_000, 400_000, 1, 2_000_000, 2_000_000, 4_096),
        sharing.overview().evictions());
    look();
    assertEquals(1, sharing.overview().evictions().stops(), "it is told once");
    assertTrue(sharing.overview().seen().reason().contains("memory is 96.0 %"));
  }

  /** NVML has no reading at each look. */
  @Test
  void look_activityIsNotMeasuredNow_theEstimateIsCalledOne() {
    look();
    assertEquals("a recording", sharing.overview().seen().source());
    DeviceSample measured = sample;
    sample = withoutActivity();
    look();
    assertEquals(
        "a recording, SM activity estimated from runs", sharing.overview().seen().source());
    assertTrue(sharing.overview().seen().sample().work().activity().isPresent());
    sample = measured;
    look();
    assertEquals("a recording", sharing.overview().seen().source());
  }

  /** Those that stand keep what there is too little of, until they end. */
  @Test
  void look_tooLittleMemory_hasOfflineRunsEndOnceTheyStandAndTimesTheirMemorysReturn() {
    AtomicBoolean stands = new AtomicBoolean();
    AtomicInteger ended = new AtomicInteger();
    AtomicLong held = new AtomicLong();
    OfflineRun run = stands::get;
    sharing.gate().begin(run);
    sharing.onEviction(new Held(held, ended));
    look();
    sample = sample(0.2, 1, 0.96);
    look();
    assertEquals(0, ended.get(), "it computes on to its gate");
    stands.set(true);
    assertTrue(sharing.watchEviction(), "it is told to end, and has not");
    assertEquals(1, ended.get());
    assertEquals(0, sharing.overview().evictions().memoryBytes());
    now.addAndGet(3_000_000);
    sharing.gate().end(run);
    held.set(4_096);
    assertFalse(sharing.watchEviction());
    assertEquals(
        new Evictions(1, 0, 0, 1, 3_000_000, 3_000_000, 4_096), sharing.overview().evictions());
    look();
    assertEquals(1, ended.get(), "who has ended is told nothing");
  }

  /** Else they would keep, for as long as they stand, what keeps them standing. */
  @Test
  void look_tooLittleMemoryWhileOverloadedForAnotherReason_hasOfflineRunsEnd() {
    AtomicInteger ended = new AtomicInteger();
    AtomicLong held = new AtomicLong();
    OfflineRun run = () -> true;
    sharing.gate().begin(run);
    sharing.onEviction(new Held(held, ended));
    look();
    sample = sample(0.9, 0.3, 0.5);
    assertEquals(SharingState.OVERLIMIT, look());
    assertEquals(0, ended.get());
    sample = sample(0.9, 0.3, 0.96);
    assertEquals(SharingState.OVERLIMIT, look());
    assertEquals(1, ended.get());
    OfflineRun late = () -> true; // Which waited for memory meanwhile.
    sharing.gate().begin(late);
    sharing.gate().end(run);
    held.set(4_096);
    look();
    assertEquals(2, ended.get(), "it is told as well");
    sharing.gate().end(late);
    held.set(8_192);
    look();
    assertEquals(12_288, sharing.overview().evictions().memoryBytes());
  }

  /** The state that follows is told to nobody again. */
  @Test
  void look_memoryCannotBeTakenBackAsTheOverloadEnds_gateOpensAllTheSame() {
    AtomicBoolean fails = new AtomicBoolean();
    sharing.gate().begin(() -> true);
    sharing.onEviction(
        new Held(new AtomicLong(), new AtomicInteger()) {
          @Override
          public long takeBackOffline() {
            if (fails.get()) {
              throw new IllegalStateException("it fails");
            }
            return super.takeBackOffline();
          }
        });
    look();
    sample = sample(0.2, 1, 0.96);
    assertEquals(SharingState.OVERLIMIT, look());
    fails.set(true);
    sample = sample(0.2, 1, 0.5);
    now.addAndGet(3_600 * SECOND);
    assertEquals(0, sharing.gate().allowed());
    assertThrows(IllegalStateException.class, this::look);
    assertEquals(1, sharing.gate().allowed());
  }

  @Test
  void look_overloadEndsBeforeAllHaveEnded_whatHasComeBackIsTold() {
    AtomicLong held = new AtomicLong(4_096);
    sharing.gate().begin(() -> true);
    sharing.onEviction(new Held(held, new AtomicInteger()));
    look();
    sample = sample(0.2, 1, 0.96);
    look();
    sample = sample(0.2, 1, 0.5);
    now.addAndGet(SECOND);
    assertEquals(SharingState.UNHEALTHY, look());
    assertEquals(4_096, sharing.overview().evictions().memoryBytes());
  }

  @Test
  void look_overloadOfAnotherKind_leavesOfflineRunsWhereTheyStand() {
    AtomicInteger ended = new AtomicInteger();
    sharing.gate().begin(() -> true);
    sharing.onEviction(new Held(new AtomicLong(), ended));
    look();
    sample = sample(0.9, 0.3, 0.5);
    assertEquals(SharingState.OVERLIMIT, look());
    assertEquals(0, ended.get());
  }

  /** Looking at once is for what stops at once; the rest is seen when the device is looked at. */
  @Test
  void look_runThatComesToNoGate_isNotWatchedForLong() {
    AtomicBoolean stands = new AtomicBoolean();
    sharing.gate().begin(stands::get);
    look();
    sample = sample(0.2, 1, 0.96);
    look();
    assertTrue(sharing.watchEviction());
    now.addAndGet(SECOND / 10);
    assertFalse(sharing.watchEviction());
    stands.set(true);
    look();
    assertEquals(1, sharing.overview().evictions().stops());
    assertEquals(SECOND / 5, sharing.overview().evictions().stopNanos());
  }

  @Test
  void look_hostWaitsForMemory_takesNoNewOfflineWorkThenStopsIt() {
    sample = host(0.02, 0.5);
    assertEquals(SharingState.HEALTHY, look());
    sample = host(0.15, 0.5);
    assertEquals(SharingState.UNHEALTHY, look());
    assertFalse(sharing.gate().mayBegin());
    assertEquals(0, sharing.gate().waitNanos(1, 0), "what runs goes on");
    sample = host(0.45, 0.5);
    assertEquals(SharingState.OVERLIMIT, look());
    assertEquals(OfflineGate.UNTIL_TOLD, sharing.gate().waitNanos(1, 0));
    sample = host(0.02, 0.5);
    assertEquals(SharingState.OVERLIMIT, look(), "for a period at least");
    now.addAndGet(SECOND);
    assertEquals(SharingState.UNHEALTHY, look());
    assertEquals(SharingState.HEALTHY, look());
    assertTrue(sharing.gate().mayBegin());
  }

  /** As when it swaps: much of its memory is available, and so is the device's. */
  @Test
  void look_hostWaitsForMemoryAlone_evictsOfflineRunsAndTakesBackWhatTheyHeld() {
    AtomicInteger ended = new AtomicInteger();
    AtomicLong held = new AtomicLong();
    OfflineRun run = () -> true;
    sharing.gate().begin(run);
    sharing.onEviction(new Held(held, ended));
    sample = host(0.02, 0.2);
    assertEquals(SharingState.HEALTHY, look());
    sample = host(0.4, 0.2);
    assertEquals(SharingState.OVERLIMIT, look());
    assertTrue(
        sharing.overview().seen().reason().startsWith("memory-pressure is 40.0 %"),
        sharing.overview().seen()::reason);
    assertEquals(1, ended.get());
    sharing.gate().end(run);
    held.set(4_096);
    look();
    assertEquals(4_096, sharing.overview().evictions().memoryBytes());
  }

  @Test
  void look_hostMemoryFillsUp_takesNoNewOfflineWorkThenStopsIt() {
    sample = host(0, 0.98);
    assertEquals(SharingState.UNHEALTHY, look());
    sample = host(0, 0.96);
    assertEquals(SharingState.UNHEALTHY, look(), "not healthy before 95 %");
    sample = host(0, 0.99);
    assertEquals(SharingState.OVERLIMIT, look());
  }

  @Test
  void look_clockFallsUnderLoad_throttles() {
    for (int i = 0; i < 20; i++) {
      sample = sample(0.95, 0.65, 0.5);
      look();
    }
    assertTrue(
        sharing.overview().seen().share() < 0.5,
        () -> "share " + sharing.overview().seen().share());
    assertTrue(sharing.overview().seen().load() > 1);
  }

  /** It saves power while it has nothing to do. */
  @Test
  void look_idleDeviceWithALowClock_isHealthyAndNotThrottled() {
    sample = sample(0.01, 0.1, 0.5);
    assertEquals(SharingState.HEALTHY, look());
    assertEquals(1, sharing.overview().seen().share());
  }

  @Test
  void look_deviceIsLost_isDisabledUntilItReturns() {
    look();
    lost = true;
    assertEquals(SharingState.DISABLED, look());
    lost = false;
    assertEquals(SharingState.INIT, look());
    assertEquals(SharingState.HEALTHY, look());
  }

  @Test
  void look_deviceReportsAnError_workersAreResetOnceABurst() {
    List<String> resets = new ArrayList<>();
    sharing.onError(resets::add);
    look();
    assertEquals(List.of(), resets);
    errors = List.of(new DeviceError(31), new DeviceError(43));
    look();
    errors = List.of(new DeviceError(45), new DeviceError(13));
    look();
    assertEquals(1, resets.size());
    assertTrue(resets.getFirst().contains("XID 31"), resets::toString);
    now.addAndGet(3 * SECOND);
    errors = List.of(new DeviceError(45));
    look();
    assertEquals(1, resets.size(), "it is the trace of a process that has ended");
    errors = List.of(new DeviceError(79));
    lost = true;
    look();
    assertEquals(2, resets.size(), "also of a device that does not answer");
  }

  @Test
  void look_thereWasNothingToReset_theNextErrorIsNotOfABurst() {
    List<String> resets = new ArrayList<>();
    sharing.onError(
        reason -> {
          resets.add(reason);
          return resets.size() > 1;
        });
    errors = List.of(new DeviceError(31), new DeviceError(13), new DeviceError(43));
    look();
    assertEquals(2, resets.size());
  }

  @Test
  void look_objectivesAreMissed_stopsOfflineWork() {
    assertEquals(SharingState.HEALTHY, look());
    judge(96, 4);
    assertEquals(SharingState.HEALTHY, look());
    judge(54, 46);
    assertEquals(SharingState.OVERLIMIT, look());
  }

  private void judge(int met, int missed) {
    for (int i = 0; i < met + missed; i++) {
      sharing.objectives().judged(i < met);
    }
  }

  @Test
  void samples_areKeptForMinutesAndNoLonger() {
    for (int i = 0; i < 3_600; i++) {
      look();
    }
    int kept = sharing.samples().kept().size();
    assertTrue(kept > 2_900 && kept <= 3_001, () -> kept + " are kept");
    assertEquals(sample, sharing.samples().kept().getLast().sample());
  }

  @Test
  void activityThatIsNotMeasured_isEstimatedFromRuns() {
    sample = withoutActivity();
    for (int i = 0; i < 100; i++) {
      now.addAndGet(SECOND / 10);
      sharing.gate().runTime().ran(SECOND / 20);
      sharing.gate().runTime().ran(SECOND / 10, 0.1);
      sharing.look();
    }
    assertEquals(0.6, sharing.overview().seen().sample().work().activity().orElseThrow(), 0.01);
    sharing.gate().runTime().ran(10 * SECOND);
    now.addAndGet(SECOND / 10);
    sharing.look();
    assertEquals(1, sharing.overview().seen().sample().work().activity().orElseThrow());
  }
}
