package io.pipelane.switcher.sharing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.monitor.DeviceError;
import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.switcher.Deadline;
import io.pipelane.switcher.Ignored;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.Test;

class SharingTest extends SharingFixture {
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

  @Test
  void look_callersNameTimesOfTheirOwn_neitherStopsOfflineWorkNorHidesWhatIsMissed() {
    look();
    answer(40, new Deadline(OptionalLong.of(now.get() - 1), false));
    assertEquals(SharingState.HEALTHY, look(), "late");
    answer(40, new Deadline(OptionalLong.of(now.get() - 1), true));
    answer(1_000, new Deadline(OptionalLong.of(now.get() + SECOND), false));
    assertEquals(SharingState.OVERLIMIT, look(), "in time, beside objectives that are missed");
  }

  private void answer(int requests, Deadline deadline) {
    for (int i = 0; i < requests; i++) {
      sharing
          .objectives()
          .judging(due(deadline), new Ignored(), now::get)
          .completed(new InferenceTimings(0, 0, 1));
    }
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
