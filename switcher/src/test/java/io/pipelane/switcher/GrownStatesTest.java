package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.execution.CpuRuntime;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.StatefulModels;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.residency.ResidencySettings;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A state on the processor that grows by a row in each step, until it has all that it can have. */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("NullAway.Init") // begin() fills the fields.
class GrownStatesTest {
  private static final long MIB = 1 << 20;
  private static final int WIDTH = 64;
  private static final int ROWS_OF_MIB = (int) MIB / (WIDTH * Float.BYTES);
  private static final long WORKING = 64 * MIB;
  private static final int MOST_REFUSALS = 4;

  @TempDir Path folder;
  private final CpuDevice device =
      CpuDevice.open(new ByteSize(MIB), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
  private final DeviceMemory memory = new DeviceMemory(device.persistent());
  private final CpuRuntime runtime = new CpuRuntime(TestDevices.library());
  private final Switcher switcher =
      new Switcher(
          device, memory, runtime.sessions(device, memory, 1), settings(), ReadWeights::of);
  private ImportedModel mean;
  private ImportedModel wide;

  /** Offline work may hold half of it. */
  private static SwitcherSettings settings() {
    ResidencySettings all = ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL);
    return SwitcherSettings.of(MIB, WORKING, 1, 1_000, 4 * WORKING, new EqualBytesGrouping(4, 1))
        .withResidency(
            new ResidencySettings(all.config(), all.profiles(), all.costs(), 0.5, false));
  }

  @BeforeEach
  void begin() throws Exception {
    mean = TestImports.of(StatefulModels.mean(WIDTH), "mean", folder);
    switcher.register(mean, SequencesTest.keeping(Map.of("t", "s")));
    wide = TestImports.of(TestModels.chain(1, WIDTH, 1), "wide", folder);
    switcher.register(wide, ModelOptions.DEFAULT);
  }

  @AfterEach
  void everythingIsGivenBack() {
    switcher.verify();
    switcher.close();
    device.close();
    runtime.close();
  }

  /** Has a request of one input answered, which takes so many MiB. */
  private void run(
      ImportedModel model, int mebibytes, Priority priority, Optional<SequenceStep> of) {
    try (Arena arena = Arena.ofShared()) {
      InputTensor x =
          new InputTensor(
              "x",
              TensorType.FP32,
              Shape.of((long) mebibytes * ROWS_OF_MIB, WIDTH),
              arena.allocate(mebibytes * MIB, 64));
      Call call = new Call();
      switcher.submit(
          new InferenceRequest(
              model.version(), List.of(x), List.of("y"), OptionalLong.empty(), priority, of),
          call);
      float[] _ = call.await();
    }
  }

  private int stepsOf(String sequence, Priority priority) {
    return stepsOf(sequence, priority, priority, () -> {});
  }

  /** Has a state grow until that is refused for good, and asks again where that is said. */
  private int stepsOf(String sequence, Priority first, Priority others, Runnable beforeEach) {
    int steps = 0;
    int refusals = 0;
    while (refusals < MOST_REFUSALS) {
      beforeEach.run();
      try {
        Priority priority = steps == 0 ? first : others;
        run(mean, 1, priority, Optional.of(new SequenceStep(sequence, steps == 0, false)));
        steps++;
        refusals = 0;
      } catch (StatusException e) {
        if (e.status() == Status.INSUFFICIENT_MEMORY) {
          String message = String.valueOf(e.getMessage());
          assertTrue(message.contains("memory"), message);
          return steps;
        }
        assertEquals(Status.UNAVAILABLE, e.status(), e.getMessage());
        refusals++;
      }
    }
    return fail("after %d steps it is told to try again, for ever".formatted(steps));
  }

  /** Its lane is left from a larger run, which is no reason to have less. */
  @Test
  void stateInALaneThatIsLargerThanItsStepsNeed_growsAsFarAsInOneOfItsOwn() {
    int steps = stepsOf("own", Priority.ONLINE);
    run(mean, 1, Priority.ONLINE, Optional.of(new SequenceStep("own", true, true)));
    run(wide, 20, Priority.ONLINE, Optional.empty());
    assertEquals(steps, stepsOf("left", Priority.ONLINE));
  }

  /** Its lane has what it needs. Its session, which has left, takes more while it is built anew. */
  @Test
  void aLargerRunBeforeEveryStep_takesNothingFromTheState() {
    int steps = stepsOf("own", Priority.ONLINE);
    run(mean, 1, Priority.ONLINE, Optional.of(new SequenceStep("own", true, true)));
    int between =
        stepsOf("between", Priority.ONLINE, Priority.ONLINE, this::runLargerWhereItHasRoom);
    assertTrue(between >= steps - 1, "%d steps, %d by itself".formatted(between, steps));
  }

  private void runLargerWhereItHasRoom() {
    try {
      run(wide, 20, Priority.ONLINE, Optional.empty());
    } catch (StatusException e) {
      assertEquals(Status.UNAVAILABLE, e.status(), e.getMessage());
    }
  }

  @Test
  void offlineState_isRefusedForGood_whereOnlyItsStepsLaneIsInTheWayOfIt() {
    int steps = stepsOf("offline", Priority.OFFLINE);
    assertTrue(steps > 1, steps + " steps");
  }

  /** What offline work may hold has no part in it: that is said by the first step. */
  @Test
  void stateOfAnOnlineSequence_growsInOfflineStepsBeyondWhatOfflineWorkMayHold() {
    int offline = stepsOf("offline", Priority.OFFLINE);
    run(mean, 1, Priority.OFFLINE, Optional.of(new SequenceStep("offline", true, true)));
    int begunOnline = stepsOf("begun online", Priority.ONLINE, Priority.OFFLINE, () -> {});
    assertTrue(2L * begunOnline > WORKING / 2 / MIB, begunOnline + " steps, not " + offline);
  }

  /** Of its steps' lanes nothing is charged to offline work. */
  @Test
  void stateOfAnOfflineSequence_growsFurtherInOnlineSteps() {
    int offline = stepsOf("offline", Priority.OFFLINE);
    run(mean, 1, Priority.OFFLINE, Optional.of(new SequenceStep("offline", true, true)));
    int online = stepsOf("begun offline", Priority.OFFLINE, Priority.ONLINE, () -> {});
    assertTrue(online > offline, online + " steps, not " + offline);
    assertTrue(2L * online <= WORKING / 2 / MIB, online + " steps");
  }
}
