package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

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
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.Shape;
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

/** States on the processor that have no room, beside idle sessions that have most of it. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("NullAway.Init") // begin() fills the field.
class StatesBesideSessionsTest {
  private static final long MIB = 1 << 20;
  private static final int WIDTH = 64;
  private static final int SESSIONS = 4;
  private static final long SESSION = 10 * MIB;
  private static final long WORKING = 64 * MIB;

  @TempDir Path folder;
  private final CpuDevice device =
      CpuDevice.open(new ByteSize(MIB), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
  private final DeviceMemory memory = new DeviceMemory(device.persistent());
  private final CpuRuntime runtime = new CpuRuntime(TestDevices.library());
  private final Switcher switcher =
      new Switcher(
          device,
          memory,
          new WrappedSessions(runtime.sessions(device, memory, 1), LargeSession::new),
          SwitcherSettings.of(MIB, WORKING, 1, 1_000, 4 * WORKING, new EqualBytesGrouping(4, 1))
              .withResidency(offlineHasHalf()),
          ReadWeights::of);
  private ImportedModel model;

  private static ResidencySettings offlineHasHalf() {
    ResidencySettings all = ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL);
    return new ResidencySettings(all.config(), all.profiles(), all.costs(), 0.5, false);
  }

  @BeforeEach
  void begin() throws Exception {
    model = TestImports.of(TestModels.recurrent(WIDTH), "m", folder);
    switcher.register(model, SequencesTest.keeping(Map.of("t", "s")));
    for (int i = 1; i < SESSIONS; i++) {
      switcher.register(
          TestImports.of(TestModels.chain(1 + i, WIDTH, i), "other" + i, folder),
          ModelOptions.DEFAULT);
    }
    assertEquals(WORKING - SESSIONS * SESSION, freeBytes());
  }

  @AfterEach
  void everythingIsGivenBack() {
    switcher.verify();
    switcher.close();
    device.close();
    runtime.close();
  }

  /** A session that says that it holds much. */
  private static final class LargeSession extends WrappedSessions.Wrapped {
    LargeSession(ModelSession session) {
      super(session);
    }

    @Override
    public long frameworkBytes() {
      return SESSION;
    }
  }

  private long freeBytes() {
    return Math.round(switcher.standing().freeShare(0) * WORKING);
  }

  private long evicted() {
    return switcher.memory().sessions().evicted();
  }

  /** Begins a sequence whose state, of two copies, has no room. */
  private void assertRefused(Status expected, long bytes, Priority priority) {
    long rows = bytes / 2 / (WIDTH * Float.BYTES);
    try (Arena arena = Arena.ofShared()) {
      InputTensor x =
          new InputTensor(
              "x", TensorType.FP32, Shape.of(rows, WIDTH), arena.allocate(bytes / 2, 64));
      Call call = new Call();
      StatusException refusal =
          assertThrows(
              StatusException.class,
              () -> {
                switcher.submit(
                    new InferenceRequest(
                        model.version(),
                        List.of(x),
                        List.of("y"),
                        OptionalLong.empty(),
                        priority,
                        Optional.of(new SequenceStep("sequence", true, false))),
                    call);
                call.await();
              });
      assertEquals(expected, refusal.status(), refusal.getMessage());
    }
  }

  @Test
  void stateWithoutRoom_hasAsManySessionsClosedAsItLacks_andNoneInVain() {
    assertRefused(
        Status.INSUFFICIENT_MEMORY,
        2 * WORKING,
        Priority.ONLINE); // More than all of them would free.
    assertRefused(
        Status.INSUFFICIENT_MEMORY, 50 * MIB, Priority.OFFLINE); // More than offline work may hold.
    assertEquals(0, evicted());
    assertRefused(Status.UNAVAILABLE, 50 * MIB, Priority.ONLINE);
    while (evicted() < 3 || freeBytes() < 50 * MIB) {
      Thread.onSpinWait();
    }
    assertEquals(3, evicted());
    assertEquals(54 * MIB, freeBytes());
  }
}
